# syntax=docker/dockerfile:1
# One image for everything that runs in production: the web app, the worker inside it, migrations and the command line.
# `docker build --target sandbox .` makes another one for trying things out: a stand-in of the gateway, and the demo.

# By its digest: the same commit is built on the same ground tomorrow. `docker buildx imagetools inspect python:3.12-slim`
# tells today's, which brings the corrections of Debian and Python since.
ARG PYTHON_IMAGE=python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src

# Dependencies first: they change less often than the app. The build tool lives in an environment of its own,
# so that it does not travel on.
COPY requirements.txt requirements-build.txt ./
RUN python -m venv /opt/build && /opt/build/bin/pip install --require-hashes -r requirements-build.txt \
    && python -m venv /opt/app && /opt/app/bin/pip install --require-hashes -r requirements.txt

COPY pyproject.toml README.md LICENSE saleor_gateway.py ./
COPY manifest manifest
COPY packaging packaging
COPY app app
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheel . \
    && /opt/app/bin/pip install --no-deps /wheel/*.whl


FROM build AS build-sandbox
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheel-sandbox ./packaging/sandbox \
    && /opt/app/bin/pip install --no-deps /wheel-sandbox/*.whl


FROM ${PYTHON_IMAGE} AS base
# By numbers: Kubernetes can tell from them, and not from a name, that this is not root.
RUN groupadd --system --gid 10001 gateway \
    && useradd --system --uid 10001 --gid 10001 --home-dir /data --shell /usr/sbin/nologin gateway \
    && install --directory --owner=10001 --group=10001 --mode=0700 /data
ENV PATH=/opt/app/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /data
USER 10001:10001


FROM base AS sandbox
COPY --from=build-sandbox /opt/app /opt/app
EXPOSE 8077
CMD ["saleor-gateway", "sandbox", "--host", "0.0.0.0"]


# The last stage is what is built when no other is named.
FROM base AS production
COPY --from=build /opt/app /opt/app

ENV APP_HOST=0.0.0.0 \
    APP_PORT=8100 \
    APP_DATA_DIR=/data \
    APP_LOG_FORMAT=json

# SQLite database and generated keys, unless the settings put them elsewhere.
VOLUME /data
EXPOSE 8100
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as web; web.urlopen('http://127.0.0.1:' + os.environ['APP_PORT'] + '/readyz', timeout=4)"]
CMD ["saleor-gateway", "run"]
