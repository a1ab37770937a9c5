# homothety with all file formats and figures; the default command is the demo. Build it by `make image`.
#
#   docker run --rm homothety                                          the demo
#   docker run --rm -v "$PWD:/data" homothety segment demos/           your own recordings
FROM python:3.13-slim

COPY pyproject.toml README.md LICENSE /opt/homothety/
COPY src /opt/homothety/src

# Loops are compiled now and not in the first run. On another kind of processor Numba compiles them again.
ENV NUMBA_CACHE_DIR=/opt/numba-cache
RUN pip install --no-cache-dir "/opt/homothety[all]" \
    && homothety warm-up \
    && useradd --create-home user \
    && mkdir /data \
    && chown -R user /data /opt/numba-cache

USER user
WORKDIR /data
ENTRYPOINT ["homothety"]
CMD ["demo"]
