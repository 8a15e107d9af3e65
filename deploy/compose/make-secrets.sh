#!/bin/sh
# Writes the secrets of compose.yaml, each once: what is there is kept. Keep a copy of master-key elsewhere.
set -eu
umask 077
folder=$(dirname "$0")/secrets
mkdir -p "$folder"
chmod 0700 "$folder"

make() { # name, command that prints the secret
  name=$1
  shift
  [ -s "$folder/$name" ] && return 0
  "$@" | tr -d '\n' >"$folder/$name.new"
  # The nodes run as another user than the one who made the files.
  chmod 0644 "$folder/$name.new"
  mv "$folder/$name.new" "$folder/$name"
  echo "wrote $folder/$name"
}

make master-key openssl rand -base64 32
make cluster-secret openssl rand -hex 32
make operator-token openssl rand -hex 32
make database-password openssl rand -hex 24
make grafana-password openssl rand -hex 12
make database-url printf 'postgres://troupe:%s@postgres:5432/troupe' "$(cat "$folder/database-password")"
