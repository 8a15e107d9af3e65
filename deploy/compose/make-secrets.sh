#!/bin/sh
# Writes the secrets of compose.yaml, each once: what is there is kept. Keep a copy of master-key elsewhere.
set -eu
umask 077
folder=$(dirname "$0")/secrets
mkdir -p "$folder"
chmod 0700 "$folder"

command -v openssl >/dev/null || {
  echo "make-secrets.sh: openssl is not installed; install it and run this again" >&2
  exit 1
}

make() { # name, command that prints the secret
  name=$1
  shift
  [ -s "$folder/$name" ] && return 0
  # Not through a pipe, which would hide that the command fails.
  value=$("$@")
  [ -n "$value" ] || {
    echo "make-secrets.sh: $name: $1 printed nothing" >&2
    exit 1
  }
  printf '%s' "$value" >"$folder/$name.new"
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
# Releases up to 0.1 wrote an address without a password where openssl was missing.
if grep -qs 'troupe:@' "$folder/database-url"; then rm "$folder/database-url"; fi
make database-url printf 'postgres://troupe:%s@postgres:5432/troupe' "$(cat "$folder/database-password")"
