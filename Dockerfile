# syntax=docker/dockerfile:1
# One image for everything that runs in production: the web app, the worker inside it, migrations and the command line.
# `docker build --target sandbox .` makes the same with another command: a stand-in of the gateway, for trying things out.

# By its digest: the same commit is built on the same ground tomorrow. `docker buildx imagetools inspect python:3.12-slim`
# tells today's, which brings the corrections of Debian and Python since.
ARG PYTHON_IMAGE=python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea

# What changes with requirements.txt: a layer of its own, the largest one, which updates of the app do not fetch again.
# pip stands apart, in an environment that does not travel on.
FROM ${PYTHON_IMAGE} AS dependencies
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
COPY requirements.txt requirements-build.txt ./
# Of Babel's locales the app uses those of its languages, and what they fall back to: 30 MB less.
RUN python -m venv /opt/build && /opt/build/bin/pip install --require-hashes -r requirements-build.txt \
    && python -m venv --without-pip /opt/app \
    && /opt/build/bin/pip --python /opt/app/bin/python install --require-hashes -r requirements.txt \
    && find /opt/app/lib/python3*/site-packages/babel/locale-data -name '*.dat' \
        ! -name root.dat ! -name 'en*.dat' ! -name 'uk*.dat' -delete


# The app alone, laid down below /own as it will lie below /.
FROM dependencies AS build
COPY pyproject.toml README.md LICENSE saleor_gateway.py ./
COPY manifest manifest
COPY packaging packaging
COPY packages packages
COPY app app
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheel . ./packages/* \
    && /opt/build/bin/pip --python /opt/app/bin/python install --no-deps --root /own /wheel/*.whl \
    && install -D packaging/image/healthy /own/usr/local/bin/saleor-gateway-healthy


FROM ${PYTHON_IMAGE} AS base
# By numbers: Kubernetes can tell from them, and not from a name, that this is not root. Nothing is installed later.
# The folder is open to group 0, in which OpenShift runs containers as any user; the app closes it where it owns it.
RUN groupadd --system --gid 10001 gateway \
    && useradd --system --uid 10001 --gid 10001 --home-dir /data --shell /usr/sbin/nologin gateway \
    && install --directory --owner=10001 --group=0 --mode=0770 /data \
    && python -m pip uninstall --yes --root-user-action=ignore pip && rm -rf /usr/local/lib/python3*/ensurepip
ENV PATH=/opt/app/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /data
COPY --from=dependencies /opt/app /opt/app
USER 10001:10001


FROM base AS sandbox
COPY --from=build /own /
EXPOSE 8077
CMD ["saleor-gateway", "sandbox", "--host", "0.0.0.0"]
LABEL org.opencontainers.image.title="gateway-sandbox" \
    org.opencontainers.image.description="A stand-in of the gateway, a stand-in of Saleor and a demo, for developers." \
    org.opencontainers.image.licenses="BSD-3-Clause"


# The last stage is what is built when no other is named.
FROM base AS production
COPY --from=build /own /

ENV APP_HOST=0.0.0.0 \
    APP_PORT=8100 \
    APP_METRICS_PORT=9108 \
    APP_DATA_DIR=/data \
    APP_LOG_FORMAT=json

# SQLite database and generated keys, unless the settings put them elsewhere.
VOLUME /data
EXPOSE 8100
# Asks what the container's process serves, a worker too. Only Docker's image format has this: compose.yaml says it again, and
# docs/operators/install.md for others.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["saleor-gateway-healthy"]
CMD ["saleor-gateway", "run"]

# The release says which version and commit it is made of.
ARG VERSION= REVISION=
LABEL org.opencontainers.image.title="saleor-gateway" \
    org.opencontainers.image.description="The payment app for Saleor stores whose money goes through this gateway." \
    org.opencontainers.image.licenses="BSD-3-Clause" \
    org.opencontainers.image.base.name="docker.io/library/python:3.12-slim" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
