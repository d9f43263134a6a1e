"""What the Kafka engine promises beyond the contract, on nodes that are slow, silent, closed or gone."""
