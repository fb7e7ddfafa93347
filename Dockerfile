# Two stages: the first has what building needs, the second only what running needs.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1
RUN python3 -m venv /opt/openexecutive
# Dependencies first: they change less often than the source, so this layer is kept.
COPY requirements.lock ./
RUN /opt/openexecutive/bin/pip install --require-hashes --requirement requirements.lock
COPY pyproject.toml README.md ./
COPY bot ./bot
COPY channels ./channels
COPY config ./config
RUN /opt/openexecutive/bin/pip install --no-deps . \
 && /opt/openexecutive/bin/python -m compileall -q /opt/openexecutive/lib

FROM python:3.11-slim-bookworm
# Loopback is no proof of who writes in a container: the daemon is told where it runs (docs/install.md).
ENV OPENEXECUTIVE_IN_CONTAINER=1 \
    OPENEXECUTIVE_DATA_DIR=/data \
    PATH=/opt/openexecutive/bin:$PATH \
    PYTHONUNBUFFERED=1
RUN groupadd --gid 10001 openexecutive \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin openexecutive \
 && install --directory --owner=10001 --group=10001 --mode=0700 /data
COPY --from=build /opt/openexecutive /opt/openexecutive
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8321 2525
# By the control socket in the data folder: it answers wherever the web server is bound, and also if that is off.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["openexecutive", "status", "--quick"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["openexecutive"]
CMD ["run"]
