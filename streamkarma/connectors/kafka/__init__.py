"""Kafka: everything that deals with brokers, topics and offsets."""
