{{- define "troupe.name" -}}
{{- printf "%s-troupe" .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "troupe.nodes" -}}
{{- printf "%s-nodes" (include "troupe.name" .) -}}
{{- end -}}

{{- define "troupe.selector" -}}
app.kubernetes.io/name: troupe
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "troupe.labels" -}}
{{ include "troupe.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "troupe.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{- define "troupe.tlsSecret" -}}
{{- if .Values.tls.secret -}}{{ .Values.tls.secret }}
{{- else if .Values.tls.certManager.enabled -}}{{ include "troupe.nodes" . }}-tls
{{- end -}}
{{- end -}}

{{- /* What a process of the image may do: nothing but run. */ -}}
{{- define "troupe.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "troupe.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "troupe.secretEnv" -}}
{{- $root := . -}}
{{- range $name, $key := dict
      "DATABASE_URL" .Values.secretKeys.databaseUrl
      "REDIS_URL" .Values.secretKeys.redisUrl
      "TROUPE_MASTER_KEY" .Values.secretKeys.masterKey
      "TROUPE_CLUSTER_SECRET" .Values.secretKeys.clusterSecret
      "TROUPE_OPERATOR_TOKEN" .Values.secretKeys.operatorToken }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef: { name: {{ $root.Values.secretRef }}, key: {{ $key }} }
{{- end }}
{{- range .Values.extraSecrets }}
- name: {{ .name }}
  valueFrom:
    secretKeyRef: { name: {{ .secret }}, key: {{ .key }} }
{{- end }}
{{- end -}}

{{- define "troupe.settingsEnv" -}}
{{- range $name, $value := .Values.settings }}
{{- if $value }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}
{{- end -}}
