"""The manifests for Kubernetes: what they name exists in the app, and nothing in them has more rights than it needs."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from io import StringIO
from pathlib import PurePosixPath
from typing import Any

import pytest
import yaml
from dotenv import dotenv_values
from typer.testing import CliRunner

from app.cli import cli
from app.ops.monitoring.health import Readiness, health_routes
from app.settings import PREFIX, Settings, read_settings
from app.store.database import Database
from integration_base_tests.pages import OPERATORS, blocks
from integration_base_tests.places import REPOSITORY
from integration_base_tests.waiting import LONGEST_WAIT

FOLDER = REPOSITORY / "packaging" / "kubernetes"
CUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
MANIFESTS = [
    manifest for file in CUSTOMIZATION["resources"] for manifest in yaml.safe_load_all((FOLDER / file).read_text())
]
WORKLOADS = {
    manifest["metadata"]["name"]: manifest["spec"]["template"]
    for manifest in MANIFESTS
    if manifest["kind"] in {"Deployment", "Job"}
}
IMAGE = (REPOSITORY / "Dockerfile").read_text()
SETTINGS_FILE = dotenv_values(FOLDER / "settings.env")

every_workload = pytest.mark.parametrize("name", WORKLOADS)


def container_of(name: str) -> dict[str, Any]:
    (container,) = WORKLOADS[name]["spec"]["containers"]
    assert isinstance(container, dict)
    return container


def probes_of(name: str) -> Iterator[dict[str, Any]]:
    yield from (value for key, value in container_of(name).items() if key.endswith("Probe"))


def of_kind(kind: str) -> dict[str, Any]:
    (manifest,) = [manifest for manifest in MANIFESTS if manifest["kind"] == kind]
    assert isinstance(manifest, dict)
    return manifest


def test_every_file_of_the_folder_is_used() -> None:
    used = {"kustomization.yaml", *CUSTOMIZATION["resources"], *CUSTOMIZATION["configMapGenerator"][0]["envs"]}
    assert {file.name for file in FOLDER.iterdir()} == used
    assert WORKLOADS.keys() == {"saleor-gateway-migrate", "saleor-gateway-web", "saleor-gateway-worker"}


@every_workload
def test_the_settings_are_ones_that_the_app_accepts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    container = container_of(name)
    (source,) = container["envFrom"]
    assert source == {"configMapRef": {"name": CUSTOMIZATION["configMapGenerator"][0]["name"]}}
    given = {variable["name"]: variable.get("value", "postgresql://me@db/payments") for variable in container["env"]}
    for variable, value in {**SETTINGS_FILE, **given}.items():
        assert variable.removeprefix(PREFIX).lower() in Settings.model_fields, variable
        monkeypatch.setenv(variable, str(value))
    assert read_settings().worker is (name != "saleor-gateway-web")


@every_workload
def test_secrets_are_only_referred_to(name: str) -> None:
    spec, container = WORKLOADS[name]["spec"], container_of(name)
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    secret = volumes["secret-key"]["secret"]
    (mounted,) = [mount for mount in container["volumeMounts"] if mount["name"] == "secret-key"]
    (item,) = secret["items"]
    assert mounted["readOnly"] is True
    assert str(PurePosixPath(mounted["mountPath"]) / item["path"]) == SETTINGS_FILE["APP_SECRET_KEY_FILE"]
    references = [variable["valueFrom"]["secretKeyRef"] for variable in container["env"] if "valueFrom" in variable]
    assert references == [{"name": secret["secretName"], "key": "database-url"}]
    (created,) = re.findall(r"kubectl create secret generic .*\n.*", (OPERATORS / "install.md").read_text())
    assert f"--from-file={item['key']} " in created
    assert "--from-literal=database-url=" in created
    assert created.endswith(f" {secret['secretName']}")
    assert all(manifest["kind"] != "Secret" for manifest in MANIFESTS)
    assert not {"APP_DATABASE_URL", "SENTRY_DSN"} & SETTINGS_FILE.keys()


@every_workload
def test_the_commands_exist(name: str) -> None:
    container = container_of(name)
    assert re.search(r"^ENTRYPOINT", IMAGE, re.MULTILINE) is None  # `args` is all that runs
    executed = [probe["exec"]["command"] for probe in probes_of(name) if "exec" in probe]
    for program, *words in [container["args"], *executed]:
        assert program == "saleor-gateway"
        assert CliRunner().invoke(cli, [*words, "--help"]).exit_code == 0
    assert container["args"] == ["saleor-gateway", name.removeprefix("saleor-gateway-").replace("web", "run")]


@every_workload
def test_the_ports_and_what_is_asked_there_exist(name: str, database: Database) -> None:
    ports = {port["name"]: str(port["containerPort"]) for port in container_of(name).get("ports", [])}
    served = {
        "http": dotenv_values(stream=StringIO("\n".join(re.findall(r"APP_PORT=\d+", IMAGE))))["APP_PORT"],
        "metrics": SETTINGS_FILE["APP_METRICS_PORT"],
    }
    assert ports.items() <= served.items()
    paths = {route.path for route in health_routes("1", Readiness(), database)}
    asked = [probe["httpGet"] for probe in probes_of(name) if "httpGet" in probe]
    assert all(request["path"] in paths and request["port"] in ports for request in asked)
    assert (len(list(probes_of(name))) > 1) is (name != "saleor-gateway-migrate")


@every_workload
def test_nobody_has_more_rights_than_needed(name: str) -> None:
    spec, container = WORKLOADS[name]["spec"], container_of(name)
    ((user, group),) = re.findall(r"^USER (\d+):(\d+)$", IMAGE, re.MULTILINE)
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": int(user),
        "runAsGroup": int(group),
        "fsGroup": int(group),
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    assert [volume["name"] for volume in spec["volumes"] if "secret" not in volume] == ["tmp"]
    assert container["resources"]["limits"]["memory"]


@every_workload
def test_the_image_is_named_in_one_place(name: str) -> None:
    assert container_of(name)["image"] == CUSTOMIZATION["images"][0]["name"]


@pytest.mark.parametrize("name", ["saleor-gateway-web", "saleor-gateway-worker"])
def test_what_is_stopped_has_the_time_that_it_needs(name: str) -> None:
    """docs/operators/processes.md, Stopping: 40 seconds and the drain."""
    assert WORKLOADS[name]["spec"]["terminationGracePeriodSeconds"] >= 40 + float(
        SETTINGS_FILE["APP_SHUTDOWN_DELAY_SECONDS"] or 0
    )


def test_the_service_and_the_policies_choose_the_pods_that_there_are() -> None:
    labels = {name: template["metadata"]["labels"] for name, template in WORKLOADS.items()}
    web = labels["saleor-gateway-web"].items()
    service, budget, policy = of_kind("Service"), of_kind("PodDisruptionBudget"), of_kind("NetworkPolicy")
    assert web == service["spec"]["selector"].items()
    assert web == budget["spec"]["selector"]["matchLabels"].items()
    assert all(policy["spec"]["podSelector"]["matchLabels"].items() <= label.items() for label in labels.values())
    ports = {port["name"] for port in container_of("saleor-gateway-web")["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    admitted = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
    assert admitted == ports
    assert all(rule["from"] for rule in policy["spec"]["ingress"])


def test_kustomize_makes_of_them_what_is_in_the_files() -> None:
    """Its settings get a name that changes with them, and every workload refers to that."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("there is no kubectl, and Debian has none")
    said = subprocess.run(
        [kubectl, "kustomize", str(FOLDER)], capture_output=True, text=True, check=True, timeout=LONGEST_WAIT
    )
    made = list(yaml.safe_load_all(said.stdout))
    (settings,) = [manifest for manifest in made if manifest["kind"] == "ConfigMap"]
    assert settings["data"] == SETTINGS_FILE
    assert len(made) == len(MANIFESTS) + 1
    templates = [manifest["spec"]["template"]["spec"] for manifest in made if "template" in manifest.get("spec", {})]
    containers = [container for template in templates for container in template["containers"]]
    assert len(containers) == len(WORKLOADS)
    name, tag = CUSTOMIZATION["images"][0]["newName"], CUSTOMIZATION["images"][0]["newTag"]
    for container in containers:
        assert container["envFrom"] == [{"configMapRef": {"name": settings["metadata"]["name"]}}]
        assert container["image"] == f"{name}:{tag}"


def test_the_documents_name_the_folder() -> None:
    assert any(
        "kubectl apply -k packaging/kubernetes" in block.code
        for block in blocks("sh", among=[OPERATORS / "install.md"])
    )
