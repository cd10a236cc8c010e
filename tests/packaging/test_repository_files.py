"""What a forge, an editor or a robot reads of this repository: it can be read, and only runs commands that exist."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from integration_base_tests.places import REPOSITORY

GITHUB, DEVCONTAINER = REPOSITORY / ".github", REPOSITORY / ".devcontainer"
WORKFLOWS = sorted((GITHUB / "workflows").iterdir())
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
FILES = sorted(path for folder in (GITHUB, DEVCONTAINER) for path in folder.rglob("*") if path.is_file())
READABLE = [path for path in FILES if path.suffix in {".yml", ".json"}]
TARGETS = set(re.findall(r"^([a-z-]+):.*##", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))

every_workflow = pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)


def data(path: Path) -> Any:
    return json.loads(path.read_text()) if path.suffix == ".json" else yaml.safe_load(path.read_text())


def steps(workflow: Path) -> list[dict[str, Any]]:
    return [step for job in data(workflow)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", READABLE, ids=lambda path: path.name)
def test_it_can_be_read(path: Path) -> None:
    assert isinstance(data(path), dict)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_commands_in_it_exist(path: Path) -> None:
    text = path.read_text()
    named = re.findall(r"(?:^|[`\s\"])make((?: [a-z-]+)+)(?=[`\s\",]|$)", text, re.MULTILINE)
    for target in " ".join(named).split():
        assert target in TARGETS, target
    for script in re.findall(r"\bbash (\S+?)[\"\n]", text):
        assert (REPOSITORY / script).is_file(), script


def test_ci_runs_what_contributors_are_told_and_builds_every_image() -> None:
    run = "\n".join(step.get("run", "") for step in steps(GITHUB / "workflows" / "ci.yml"))
    assert "bash .ci/run" in run.splitlines()
    assert 'for target in "test SINCE=HEAD^" "test-long' in (REPOSITORY / ".ci" / "run").read_text()
    stages = re.findall(r"^FROM base AS (\w+)$", (REPOSITORY / "Dockerfile").read_text(), re.MULTILINE)
    built = re.findall(r"^docker build(?: --target (\w+))? ", run, re.MULTILINE)
    assert {target or "production" for target in built} == set(stages)
    assert any(step.get("run") == "make audit" for step in steps(GITHUB / "workflows" / "audit.yml"))


@every_workflow
@pytest.mark.threat("supply-chain")
def test_others_actions_are_pinned_and_may_change_nothing(workflow: Path) -> None:
    assert data(workflow)["permissions"] == {"contents": "read"}
    used = re.findall(r"uses: (.+)$", workflow.read_text(), re.MULTILINE)
    assert used
    assert len(used) == sum("uses" in step for step in steps(workflow))
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    for step in steps(workflow):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_only_the_job_that_publishes_the_documentation_may_write_and_it_runs_nothing_of_ours() -> None:
    jobs = {(path.name, name): job for path in WORKFLOWS for name, job in data(path)["jobs"].items()}
    writing = {name: job["permissions"] for name, job in jobs.items() if "permissions" in job}
    assert writing == {("docs.yml", "publish"): {"pages": "write", "id-token": "write"}}
    assert [list(step) for step in jobs["docs.yml", "publish"]["steps"]] == [["uses"]]


@every_workflow
def test_no_text_of_strangers_becomes_a_command(workflow: Path) -> None:
    assert not [step for step in steps(workflow) if "${{" in step.get("run", "")]
    assert "pull_request_target" not in workflow.read_text()
    assert all("timeout-minutes" in job for job in data(workflow)["jobs"].values())


def test_ci_uses_the_oldest_and_the_newest_python_that_the_metadata_names() -> None:
    named = re.findall(r"Python :: (3\.\d+)", (REPOSITORY / "pyproject.toml").read_text())
    tested = data(GITHUB / "workflows" / "ci.yml")["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert tested == [named[0], named[-1]]


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.name)
def test_issue_forms_ask_once_and_send_vulnerabilities_elsewhere(form: Path) -> None:
    asked = data(form)
    assert {"name", "description", "body"} <= asked.keys()
    fields = [field["id"] for field in asked["body"] if field["type"] != "markdown"]
    assert len(fields) == len(set(fields)) >= 3
    if "bug" in asked["labels"]:
        assert "**Report a vulnerability**" in form.read_text()
        assert "**Report a\nvulnerability**" in (REPOSITORY / "SECURITY.md").read_text()


def test_renovate_knows_every_place_with_pins() -> None:
    managers = set(data(GITHUB / "renovate.json")["enabledManagers"])
    assert managers == {"pip_requirements", "github-actions", "dockerfile", "docker-compose", "devcontainer"}


def test_the_makefile_works_in_a_folder_whose_name_has_a_space(tmp_path: Path) -> None:
    folder = tmp_path / "my app"
    folder.mkdir()
    shutil.copy(REPOSITORY / "Makefile", folder)
    command = ["make", "--dry-run", "--silent", "--old-file", ".venv/.installed", "check", "statements", "wheels"]
    said = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    assert "deptry" in said
    unquoted = re.sub(r'"[^"\n]*"', "", said)
    assert not [line for line in unquoted.splitlines() if "my app" in line]
