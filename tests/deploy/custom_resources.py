"""What we use of the custom resources of KEDA 2, Strimzi 1 and the Prometheus operator, as JSON Schema.

Written after their definitions, which no Python package carries: nothing else is taken than what stands here.
"""

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "minLength": 1}
TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
COUNT: Schema = {"type": "integer", "minimum": 1}
FLAG: Schema = {"type": "boolean"}
ANYTHING: Schema = {"type": "object"}


def table(*required: str, **properties: Schema) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
    }


def several(item: Schema) -> Schema:
    return {"type": "array", "items": item, "minItems": 1}


def one_of(*values: str) -> Schema:
    return {"enum": list(values)}


def kind(spec: Schema, **labels: Schema) -> Schema:
    name = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", "maxLength": 253}
    own = {**TEXTS, "required": list(labels), "properties": labels}
    metadata = table("name", "namespace", name=name, namespace=TEXT, labels=own, annotations=TEXTS)
    return table("metadata", "spec", apiVersion=TEXT, kind=TEXT, metadata=metadata, spec=spec)


def of_a_cluster(spec: Schema) -> Schema:
    return kind(spec, **{"strimzi.io/cluster": TEXT})


LAG = table(
    "bootstrapServers",
    "consumerGroup",
    "topic",
    "lagThreshold",
    bootstrapServers=TEXT,
    consumerGroup=TEXT,
    topic=TEXT,
    lagThreshold={"type": "string", "pattern": "^[1-9][0-9]*$"},
    offsetResetPolicy=one_of("earliest", "latest"),
    tls=one_of("enable", "disable"),
    sasl=one_of("plaintext", "scram_sha256", "scram_sha512"),
)
BEHAVIOUR = table(scaleDown=table(stabilizationWindowSeconds={"type": "integer", "maximum": 3600}))
SCALED_OBJECT = table(
    "scaleTargetRef",
    "triggers",
    scaleTargetRef=table("name", name=TEXT),
    minReplicaCount={"type": "integer", "minimum": 0},
    maxReplicaCount=COUNT,
    advanced=table(horizontalPodAutoscalerConfig=table(behavior=BEHAVIOUR)),
    triggers=several(
        table(
            "type", "metadata", type=one_of("kafka"), metadata=LAG, authenticationRef=table("name", name=TEXT)
        )
    ),
)
TRIGGER_AUTHENTICATION = table(
    env=several(
        table("parameter", "name", parameter=one_of("username", "password"), name=TEXT, containerName=TEXT)
    ),
    secretTargetRef=several(
        table("parameter", "name", "key", parameter=one_of("ca", "cert", "key"), name=TEXT, key=TEXT)
    ),
)

LISTENER = table(
    "name",
    "port",
    "type",
    "tls",
    name={"type": "string", "pattern": "^[a-z0-9]{1,11}$"},
    port={"type": "integer", "minimum": 9092},
    type=one_of("internal"),
    tls=FLAG,
    authentication=table("type", type=one_of("scram-sha-512")),
)
KAFKA = table(
    "kafka",
    kafka=table(
        "listeners",
        version=TEXT,
        listeners=several(LISTENER),
        authorization=table("type", type=one_of("simple")),
        config=ANYTHING,
    ),
    entityOperator=table(topicOperator=ANYTHING, userOperator=ANYTHING),
)
VOLUME = table(
    "id",
    "type",
    "size",
    id={"type": "integer"},
    type=one_of("persistent-claim"),
    size=TEXT,
    kraftMetadata=one_of("shared"),
    deleteClaim=FLAG,
    **{"class": TEXT},
)
NODE_POOL = table(
    "replicas",
    "roles",
    "storage",
    replicas=COUNT,
    roles=several(one_of("controller", "broker")),
    storage=table("type", "volumes", type=one_of("jbod"), volumes=several(VOLUME)),
    resources=table(requests=ANYTHING, limits=ANYTHING),
)
OPERATIONS = one_of("Read", "Write", "Describe", "DescribeConfigs")
ACL = table(
    "resource",
    "operations",
    resource=table("type", type=one_of("topic", "group"), name=TEXT, patternType=one_of("literal", "prefix")),
    operations=several(OPERATIONS),
)
USER = table(
    authentication=table("type", type=one_of("scram-sha-512")),
    authorization=table("type", "acls", type=one_of("simple"), acls=several(ACL)),
)
RELABELING = table(
    action=one_of("keep", "drop"), sourceLabels=several(TEXT), regex=TEXT, targetLabel=TEXT, replacement=TEXT
)
POD_MONITOR = table(
    "selector",
    selector=table(matchLabels=TEXTS),
    podMetricsEndpoints=several(
        table(
            port=TEXT,
            interval={"type": "string", "pattern": "^[0-9]+(ms|s|m)$"},
            honorLabels=FLAG,
            relabelings=several(RELABELING),
        )
    ),
)

KINDS = {
    "keda.sh/v1alpha1/ScaledObject": kind(SCALED_OBJECT),
    "keda.sh/v1alpha1/TriggerAuthentication": kind(TRIGGER_AUTHENTICATION),
    "kafka.strimzi.io/v1/Kafka": kind(KAFKA),
    "kafka.strimzi.io/v1/KafkaNodePool": of_a_cluster(NODE_POOL),
    "kafka.strimzi.io/v1/KafkaTopic": of_a_cluster(
        table(topicName=TEXT, partitions=COUNT, replicas=COUNT, config=ANYTHING)
    ),
    "kafka.strimzi.io/v1/KafkaUser": of_a_cluster(USER),
    "monitoring.coreos.com/v1/PodMonitor": kind(POD_MONITOR),
    "monitoring.coreos.com/v1/PrometheusRule": kind(table("groups", groups=several(ANYTHING))),
}
