{{/* The run's TOML as a value, JSON. */}}
{{- define "run" -}}
{{- $run := fromToml .Values.run.config -}}
{{- if $run.Error }}{{ fail (printf "run.config is not valid TOML: %s" $run.Error) }}{{ end -}}
{{- if not (dig "run" "name" "" $run) }}{{ fail "run.config has no run.name. Give the run's TOML: --set-file run.config=run.toml" }}{{ end -}}
{{- toJson $run -}}
{{- end -}}

{{/* Of all pods of the release, or of one component's. */}}
{{- define "selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "labels" -}}
{{ include "selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{/* Name, namespace and labels of an object of a component, or of the whole release. */}}
{{- define "metadata" -}}
name: {{ .root.Release.Name }}{{ with .component }}-{{ . }}{{ end }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "labels" . | nindent 2 }}
{{- end -}}

{{- define "image" -}}
{{- $image := .root.Values.image -}}
{{- $tag := (get .root.Values .component).tag | default $image.tag | default .root.Chart.AppVersion -}}
{{ $image.registry }}/{{ $image.repository }}/{{ .target }}:{{ $tag }}
{{- end -}}

{{/* The image target that samples with this engine, a table `kind = ...`. */}}
{{- define "sampler" -}}
{{ eq (.kind | default "transformers") "vllm" | ternary "rollout-vllm" "rollout-cpu" }}
{{- end -}}

{{- define "serviceAccount" -}}
{{ .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary .Release.Name "default") }}
{{- end -}}
