{{/*
The pod of a component, below `template:`.

    root       the chart's root
    component  its name, and that of its values
    target     the image's, one of deploy/docker/Dockerfile
    args       of mentor-stream, or of `command`
    command    instead of the image's
    judges     whether it runs the verifier, and so may need user namespaces
    snapshots  whether it writes or reads policies, and so may need an object store
    once       whether it ends by itself: a Job's pod
    page       the port of a page of its own, which also says whether it is alive, instead of telemetry
    environment, keys, subdomain: further ones, as in a pod
*/}}
{{- define "pod" -}}
{{- $values := .root.Values -}}
{{- $pods := $values.pods -}}
{{- $own := get $values .component -}}
{{- $programs := and (.judges | default false) $values.sandbox.userNamespaces -}}
metadata:
  labels:
    {{- include "labels" . | nindent 4 }}
  annotations:
    checksum/run: {{ include (print .root.Template.BasePath "/run.yaml") .root | sha256sum }}
    {{- with $own.annotations | default $pods.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "serviceAccount" .root }}
  automountServiceAccountToken: false
  enableServiceLinks: false # their variables would look like our own
  restartPolicy: {{ .once | default false | ternary "Never" "Always" }}
  terminationGracePeriodSeconds: {{ $own.terminationGracePeriodSeconds }}
  {{- with .subdomain }}
  subdomain: {{ . }}
  {{- end }}
  {{- if $programs }}
  hostUsers: false
  {{- end }}
  {{- with $values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- range $setting := list "priorityClassName" "runtimeClassName" }}
  {{- with get $own $setting | default (get $pods $setting) }}
  {{ $setting }}: {{ . }}
  {{- end }}
  {{- end }}
  {{- range $setting := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
  {{- with get $own $setting | default (get $pods $setting) }}
  {{ $setting }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: {{ $programs | ternary "Unconfined" "RuntimeDefault" }} }
    {{- if $programs }}
    appArmorProfile: { type: {{ $values.sandbox.appArmor }} }
    {{- end }}
  containers:
    - name: {{ .component }}
      image: {{ include "image" . | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      {{- with .command }}
      command: {{ toJson . }}
      {{- end }}
      args:
        {{- toYaml .args | nindent 8 }}
      envFrom:
        - configMapRef: { name: {{ .root.Release.Name }}-environment }
        {{- if .snapshots }}
        {{- range $values.storage.credentials }}
        - secretRef: { name: {{ . }} }
        {{- end }}
        {{- end }}
      {{- $environment := trim (include "environment" .) }}
      {{- with $environment }}
      env:
        {{- . | nindent 8 }}
      {{- end }}
      ports:
        - { name: {{ include "port" . }}, containerPort: {{ .page | default $values.telemetry.port }} }
      {{- include "probes" . | nindent 6 }}
      resources:
        {{- include "resources" . | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
          {{- with $own.capabilities }}
          add: {{ toJson . }}
          {{- end }}
        {{- if $programs }}
        procMount: Unmasked
        {{- end }}
      volumeMounts:
        - { name: run, mountPath: /etc/mentor-stream, readOnly: true }
        - { name: storage, mountPath: /srv/mentor-stream }
        - { name: temporary, mountPath: /tmp }
        {{- if $own.sharedMemory | default $pods.sharedMemory }}
        - { name: shared-memory, mountPath: /dev/shm }
        {{- end }}
        {{- range (include "kafka.files" .root | fromJson).files }}
        - { name: kafka-{{ .name }}, mountPath: /etc/kafka/{{ .name }}, readOnly: true }
        {{- end }}
        {{- with $values.storage.volumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: run
      configMap: { name: {{ .root.Release.Name }}-run }
    - name: storage
      persistentVolumeClaim: { claimName: {{ $values.storage.claim | default (printf "%s-storage" .root.Release.Name) }} }
    - name: temporary
      emptyDir: {{ if $pods.scratch }}{ sizeLimit: {{ $pods.scratch }} }{{ else }}{}{{ end }}
    {{- with $own.sharedMemory | default $pods.sharedMemory }}
    - name: shared-memory
      emptyDir: { medium: Memory, sizeLimit: {{ . }} }
    {{- end }}
    {{- range (include "kafka.files" .root | fromJson).files }}
    - name: kafka-{{ .name }}
      secret: { secretName: {{ .secret }} }
    {{- end }}
    {{- with $values.storage.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* `env`: what is secret, what is this component's alone. */}}
{{- define "environment" -}}
{{- include "kafka.secrets" .root -}}
{{- range .keys }}
- name: {{ .env }}
  valueFrom: { secretKeyRef: { name: {{ .secret }}, key: {{ .key }} } }
{{- end }}
{{- with .environment }}
{{ toYaml . }}
{{- end }}
{{- range $name, $value := (get .root.Values .component).environment }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end -}}

{{- define "port" -}}
{{ empty .page | ternary "telemetry" "page" }}
{{- end -}}

{{/* Alive is whoever turns, whatever it waits for; ready is who has a broker and a policy. */}}
{{- define "probes" -}}
{{- $alive := dict "httpGet" (dict "path" "/healthz" "port" (include "port" .)) -}}
{{- $ready := dict "httpGet" (dict "path" (empty .page | ternary "/readyz" "/healthz") "port" (include "port" .)) -}}
{{- if gt (int (.pods | default 1)) 1 }}{{/* of several nodes the first answers, for all ranks */}}
{{- $ask := "test $NODE_RANK != 0 || python -c 'from urllib.request import urlopen; urlopen(\"http://127.0.0.1:%v/%s\", timeout=4)'" -}}
{{- $alive = dict "exec" (dict "command" (list "sh" "-c" (printf $ask .root.Values.telemetry.port "healthz"))) -}}
{{- $ready = dict "exec" (dict "command" (list "sh" "-c" (printf $ask .root.Values.telemetry.port "readyz"))) -}}
{{- end -}}
startupProbe: # files are checked before it answers
  {{- toYaml $alive | nindent 2 }}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 120
livenessProbe:
  {{- toYaml $alive | nindent 2 }}
  periodSeconds: 20
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  {{- toYaml $ready | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 5
{{- end -}}

{{- define "resources" -}}
{{- $own := get .root.Values .component -}}
{{- $gpu := dict -}}
{{- with $own.gpus }}{{ $gpu = dict $.root.Values.gpuResource . }}{{ end -}}
requests:
  {{- toYaml (merge (dict) $own.resources.requests $gpu) | nindent 2 }}
limits:
  {{- toYaml (merge (dict) ($own.resources.limits | default dict) $gpu) | nindent 2 }}
{{- end -}}

{{/* What Jobs have in common: `pods` of them run side by side, and one that fails is made again. */}}
{{- define "job" -}}
{{- $own := get .root.Values .component -}}
completionMode: Indexed
completions: {{ .pods | default 1 }}
parallelism: {{ .pods | default 1 }}
podReplacementPolicy: Failed # never two of one kind at once
backoffLimitPerIndex: {{ $own.retries }}
maxFailedIndexes: 0
podFailurePolicy:
  rules:
    - action: Ignore # drained nodes, preemption: no failure of the component
      onPodConditions: [{ type: DisruptionTarget, status: "True" }]
    {{- if .root.Values.storage.claim }}{{/* a volume that is made here has yet to be filled, while Jobs try */}}
    - action: FailJob # somebody must mend the config, the data or the stream first
      onExitCodes: { operator: In, values: [2] }
    {{- end }}
{{- end -}}
