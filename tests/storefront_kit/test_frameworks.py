"""The documented pages for React, Next and Vue: the kit's types fit them, and they can be built.

`make storefront-tools` installs the compilers. Next itself is not among them, for its size: what
its pages take from it is declared here.
"""

import json
import subprocess
from pathlib import Path

import pytest

from app.web.static import KIT_FOLDER
from integration_base_tests.pages import STOREFRONT, blocks
from integration_base_tests.places import REPOSITORY
from integration_base_tests.skipping import missing

pytestmark = pytest.mark.long

TOOLS = REPOSITORY / "build" / "storefront" / "node_modules"
PAGES = {"react": "payment.tsx", "next": "page.tsx", "next-checkout": "checkout.tsx"}
OF_NEXT = """
declare module "next/navigation" {
  export function redirect(url: string): never;
  export function useRouter(): { push(url: string): void };
}
declare const process: { env: Record<string, string | undefined> };
"""
COMPILES = {
    "compilerOptions": {
        "strict": True,
        "noEmit": True,
        "jsx": "react-jsx",
        "module": "esnext",
        "moduleResolution": "bundler",
        "target": "es2022",
        "lib": ["es2022", "dom", "dom.iterable"],
        "types": [],
    },
    "include": ["*"],
}
BUILDS_VUE = """
const { readFileSync, writeFileSync } = require("fs");
const { parse, compileScript } = require("@vue/compiler-sfc");
const { descriptor, errors } = parse(readFileSync("Payment.vue", "utf8"), { filename: "Payment.vue" });
if (errors.length) throw errors[0];
const templateOptions = { compilerOptions: { isCustomElement: (tag) => tag === "gateway-payment" } };
writeFileSync("payment-vue.ts", compileScript(descriptor, { id: "p", inlineTemplate: true, templateOptions }).content);
"""
RENDERS = """
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { createSSRApp } from "vue";
import { Payment } from "./payment";
import VuePayment from "./payment-vue";
const props = { saleor: "https://shop.example/graphql/", checkoutId: "Q2hl", token: null, onPaid() {} };
console.log(renderToString(createElement(Payment, props)));
console.log(typeof VuePayment.setup, typeof createSSRApp);
"""


def run(folder: Path, *command: str | Path, fails: bool = False) -> str:
    """Run one of the compilers; return what it prints."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=200)
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the documented pages, in which the kit is installed."""
    if not (TOOLS / ".package-lock.json").exists():
        missing("what checks pages for React, Next and Vue (make storefront-tools, which needs npm)")
    modules = tmp_path / "node_modules"
    modules.mkdir()
    for installed in TOOLS.iterdir():
        (modules / installed.name).symlink_to(installed)
    (modules / "saleor-gateway-payment").mkdir()
    for file in KIT_FOLDER.iterdir():
        (modules / "saleor-gateway-payment" / file.name).write_text(file.read_text())
    for block in blocks("tsx", among=[STOREFRONT]):
        (tmp_path / PAGES[block.role]).write_text(block.code)
    [vue] = blocks("vue", among=[STOREFRONT])
    (tmp_path / "Payment.vue").write_text(vue.code)
    (tmp_path / "next.d.ts").write_text(OF_NEXT)
    (tmp_path / "tsconfig.json").write_text(json.dumps(COMPILES))
    return tmp_path


def test_the_documented_pages_are_typed_and_can_be_built(project: Path) -> None:
    run(project, project / "node_modules/.bin/vue-tsc")
    (project / "build-vue.cjs").write_text(BUILDS_VUE)
    run(project, "node", "build-vue.cjs")
    (project / "render.ts").write_text(RENDERS)
    esbuild = project / "node_modules/.bin/esbuild"
    for page in ("page.tsx", "payment-vue.ts"):
        run(
            project,
            esbuild,
            page,
            "--bundle",
            "--format=esm",
            "--external:next",
            f"--outfile={page}.js",
            "--jsx=automatic",
        )
    run(project, esbuild, "render.ts", "--bundle", "--platform=node", "--outfile=render.cjs", "--jsx=automatic")
    rendered = run(project, "node", "render.cjs")
    assert '<gateway-payment saleor-api-url="https://shop.example/graphql/" checkout-id="Q2hl"' in rendered
    assert "function function" in rendered


WRONG = (
    ("payment.tsx", "checkout-id={checkoutId}", ""),
    ("payment.tsx", "customerToken={token}", "customerToken={1}"),
    ("payment.tsx", "console.warn(detail.code", "console.warn(detail.reason"),
    ("payment.tsx", "ongateway-payment-paid={onPaid}", "ongateway-payment-paid={onPaid()}"),
    ("Payment.vue", ':checkout-id="checkoutId"', ':checkout-id="1"'),
)


def test_what_is_wrong_is_found(project: Path) -> None:
    for number, (file, right, wrong) in enumerate(WRONG):
        text = (project / file).read_text()
        assert right in text
        (project / f"wrong{number}{file}").write_text(text.replace(right, wrong))
    found = run(project, project / "node_modules/.bin/vue-tsc", "--pretty", "false", fails=True)
    assert {line.partition("(")[0] for line in found.splitlines() if not line.startswith(" ")} == {
        f"wrong{number}{file}" for number, (file, _, _) in enumerate(WRONG)
    }
