"""Kafka: all that knows of brokers, topics and offsets."""
