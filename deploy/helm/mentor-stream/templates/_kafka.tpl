{{/* run.broker, for a cluster that is there and for Strimzi's. */}}
{{- define "kafka.url" -}}
{{- $options := list -}}
{{- range $name, $value := .Values.kafka.options }}{{ $options = append $options (printf "%s=%v" $name $value) }}{{ end -}}
kafka://{{ include "kafka.brokers" . }}{{ with $options }}?{{ join "&" . }}{{ end }}
{{- end -}}

{{- define "kafka.brokers" -}}
{{ .Values.kafka.strimzi.enabled | ternary (printf "%s-kafka-kafka-bootstrap.%s.svc:9093" .Release.Name .Release.Namespace) .Values.kafka.brokers }}
{{- end -}}

{{/* In the form of kafka.security, JSON. Strimzi's names of users are no secrets: `username` is there instead of its key. */}}
{{- define "kafka.security" -}}
{{- if .Values.kafka.strimzi.enabled -}}
{{- dict
    "protocol" "SASL_SSL"
    "mechanism" "SCRAM-SHA-512"
    "credentials" (dict "secret" (printf "%s-kafka-user" .Release.Name) "username" (printf "%s-kafka-user" .Release.Name) "passwordKey" "password")
    "authority" (dict "secret" (printf "%s-kafka-cluster-ca-cert" .Release.Name) "key" "ca.crt")
    "certificate" (dict "secret" "")
  | toJson -}}
{{- else -}}
{{- toJson .Values.kafka.security -}}
{{- end -}}
{{- end -}}

{{/* What is no secret of it, for the environment. */}}
{{- define "kafka.environment" -}}
{{- $security := include "kafka.security" . | fromJson -}}
MENTOR_STREAM__RUN__BROKER: {{ include "kafka.url" . | quote }}
{{- if .Values.kafka.strimzi.enabled }}
MENTOR_STREAM__TOPICS__CREATE: "false" # topics.yaml has them
{{- end }}
MENTOR_STREAM_KAFKA_SECURITY_PROTOCOL: {{ $security.protocol }}
{{- with $security.mechanism }}
MENTOR_STREAM_KAFKA_SASL_MECHANISM: {{ . }}
{{- end }}
{{- with $security.credentials.username }}
MENTOR_STREAM_KAFKA_USERNAME: {{ . }}
{{- end }}
{{- if $security.authority.secret }}
MENTOR_STREAM_KAFKA_SSL_CAFILE: /etc/kafka/authority/{{ $security.authority.key }}
{{- end }}
{{- if $security.certificate.secret }}
MENTOR_STREAM_KAFKA_SSL_CERTFILE: /etc/kafka/certificate/{{ $security.certificate.certificateKey }}
MENTOR_STREAM_KAFKA_SSL_KEYFILE: /etc/kafka/certificate/{{ $security.certificate.keyKey }}
{{- end }}
{{- end -}}

{{/* What is secret of it, as `env` of a container. */}}
{{- define "kafka.secrets" -}}
{{- with (include "kafka.security" . | fromJson).credentials }}{{ if .secret -}}
{{- if not .username }}
- name: MENTOR_STREAM_KAFKA_USERNAME
  valueFrom: { secretKeyRef: { name: {{ .secret }}, key: {{ .usernameKey }} } }
{{- end }}
- name: MENTOR_STREAM_KAFKA_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ .secret }}, key: {{ .passwordKey }} } }
{{- end }}{{ end }}
{{- end -}}

{{/* The Secrets that are mounted at /etc/kafka/NAME: a list of { name, secret }, JSON under `files`. */}}
{{- define "kafka.files" -}}
{{- $security := include "kafka.security" . | fromJson -}}
{{- $files := list -}}
{{- range $name := list "authority" "certificate" -}}
{{- with (get $security $name).secret }}{{ $files = append $files (dict "name" $name "secret" .) }}{{ end -}}
{{- end -}}
{{- dict "files" $files | toJson -}}
{{- end -}}
