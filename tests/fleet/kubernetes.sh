#!/usr/bin/env bash
# Runs a sweep on a real control plane of Kubernetes: API server, controllers, scheduler and etcd. Only the node is a
# stand-in (tests/fleet/kubelet.py), which runs a pod's command as a process.
#
#   tests/fleet/kubernetes.sh [BUILD]     BUILD: build/release by default
#
# It needs Go 1.24 or newer and Debian's etcd-server. The first run builds Kubernetes from its Go modules, which takes
# some 20 minutes; the programs are kept in ${XDG_CACHE_HOME:-~/.cache}/xsp/kubernetes. It is not part of test.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=1.34.4
xsp="$(realpath "${1:-build/release}")/bin/xsp"
programs="${XDG_CACHE_HOME:-$HOME/.cache}/xsp/kubernetes/$version"
here="$PWD/tests/fleet"
work=$(mktemp -d)
children=()
stop() {
  kill "${children[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT

die() { echo "error: $1" >&2; tail -n 5 "$work"/*.log >&2 2>/dev/null || true; exit 1; }

build_programs() {
  local from="$work/build" dir module
  mkdir -p "$from" "$programs"
  command -v go >/dev/null || die "go is not installed: Kubernetes is built from its Go modules"
  echo "building Kubernetes $version, which takes some 20 minutes" >&2
  cd "$from"
  go mod init xsp/kubernetes 2>/dev/null
  dir=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  # Its staging modules are replaced by folders in its own repository; here by their published versions.
  { printf 'module xsp/kubernetes\n\ngo 1.24\n\nrequire k8s.io/kubernetes v%s\n' "$version"
    grep -o '^	k8s.io/[a-z-]* => ./staging' "$dir/go.mod" |
      awk -v v="v0.${version#*.}" '{print "replace " $1 " => " $1 " " v}'; } >go.mod
  { printf 'package main\n\nimport (\n'
    for module in cmd/kube-apiserver/app cmd/kube-controller-manager/app cmd/kube-scheduler/app; do
      printf '\t_ "k8s.io/kubernetes/%s"\n' "$module"
    done
    printf '\t_ "k8s.io/kubectl/pkg/cmd"\n)\n\nfunc main() {}\n'; } >programs.go
  go mod tidy >"$work/tidy.log" 2>&1 || die "the modules of Kubernetes cannot be had"
  for module in kube-apiserver kube-controller-manager kube-scheduler kubectl; do
    go build -o "$programs/$module.part" "k8s.io/kubernetes/cmd/$module" >"$work/go.log" 2>&1 || die "$module is not built"
    mv "$programs/$module.part" "$programs/$module"
  done
  cd "$here/../.."
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
wait_for() { # wait_for COMMAND...: until it succeeds
  for _ in $(seq 300); do "$@" >/dev/null 2>&1 && return; sleep 0.2; done
  die "it does not come up: $*"
}

[ -x "$programs/kubectl" ] || build_programs
export PATH="$programs:$PATH" KUBECONFIG="$work/kubeconfig" XSP="$xsp"
etcd_port=$(free_port) peer_port=$(free_port) port=$(free_port)
openssl genrsa -out "$work/key" 2048 2>/dev/null
echo 'secret,admin,1,"system:masters"' >"$work/tokens.csv"
cat >"$KUBECONFIG" <<END
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:$port", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: secret}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
END

start() { # start NAME COMMAND...
  local name=$1; shift
  "$@" >"$work/$name.log" 2>&1 &
  children+=($!)
}
start etcd etcd --data-dir "$work/etcd" --listen-client-urls "http://127.0.0.1:$etcd_port" \
  --advertise-client-urls "http://127.0.0.1:$etcd_port" --listen-peer-urls "http://127.0.0.1:$peer_port"
start apiserver kube-apiserver --etcd-servers "http://127.0.0.1:$etcd_port" --secure-port "$port" --bind-address 127.0.0.1 \
  --cert-dir "$work/certificates" --service-account-issuer https://xsp --service-account-key-file "$work/key" \
  --service-account-signing-key-file "$work/key" --token-auth-file "$work/tokens.csv" \
  --authorization-mode AlwaysAllow --disable-admission-plugins ServiceAccount --service-cluster-ip-range 10.0.0.0/24
wait_for kubectl get --raw /readyz
start controllers kube-controller-manager --kubeconfig "$KUBECONFIG" --leader-elect=false --secure-port 0 \
  --controllers job-controller,garbage-collector-controller,persistentvolume-binder-controller
start scheduler kube-scheduler --kubeconfig "$KUBECONFIG" --leader-elect=false --secure-port 0

mkdir "$work/volume"
kubectl create -f - >/dev/null <<END
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}}
- {apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}}
- apiVersion: v1
  kind: PersistentVolume
  metadata: {name: v}
  spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteMany], storageClassName: "", hostPath: {path: "$work/volume"}}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: sweeps, namespace: default}
  spec: {accessModes: [ReadWriteMany], storageClassName: "", resources: {requests: {storage: 1Gi}}}
END
start n1 python3 "$here/kubelet.py" n1
start n2 python3 "$here/kubelet.py" n2

cat >"$work/sweep.yaml" <<END
name: test
models: ["fake:layers=1,us=200", "fake:layers=2,us=200"]
frameworks: [fake]
batches: [1, 2]
options: {max-time: 2, no-peaks: true}
executors: {kubernetes: {image: xsp, claim: sweeps, mount: "$work/volume", xsp: "$xsp"}}
END
attempts() { cat "$work/volume/$1"/attempts/*/*.json 2>/dev/null || true; }

echo "== a sweep, and a pod that is killed"
(
  for _ in $(seq 100); do
    pid=$(attempts all | python3 -c 'import json, sys
for line in sys.stdin:
    one = json.loads(line)
    if one["end"] == "running": print(one["pid"]); break')
    [ -n "$pid" ] && sleep 0.5 && kill -9 "$pid" && break
    sleep 0.2
  done ) &
"$xsp" sweep "$work/sweep.yaml" --executor kubernetes -o "$work/volume/all" || die "the sweep failed"
[ "$(ls "$work/volume/all/results" | wc -l)" = 4 ] || die "there are not four results"
attempts all | grep -q '"end":"lost"' || die "no attempt was lost"

echo "== a demand that no node meets"
sed 's/batches.*/devices: ["cuda:0"]/' "$work/sweep.yaml" >"$work/gpu.yaml"
"$xsp" sweep "$work/gpu.yaml" --executor kubernetes -o "$work/volume/gpu" >"$work/gpu.log" 2>&1 &
gpu=$!
children+=($gpu)
wait_for sh -c "kubectl get pods --output=json | grep -q 'Insufficient nvidia.com/gpu'"
kill -INT "$gpu"
wait "$gpu" || true

echo "== a sweep that is cancelled"
"$xsp" sweep cancel "$work/volume/gpu"
id=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$work/volume/gpu/plan.json")
wait_for sh -c "[ -z \"\$(kubectl get jobs --selector=xsp-sweep=$id --output=name)\" ]"

echo "== manifests that the server refuses"
sed 's/claim: sweeps/claim: sweeps, memory: lots/' "$work/sweep.yaml" >"$work/wrong.yaml"
! timeout 60 "$xsp" sweep "$work/wrong.yaml" --executor kubernetes -o "$work/volume/wrong" 2>"$work/wrong.log" ||
  die "it was taken"
grep -c '^error: ' "$work/wrong.log" | grep -qx 1 || die "not one line of error"
echo "kubernetes.sh: passed"
