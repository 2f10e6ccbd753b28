"""The way to Kafka's brokers: settings, connecting, and what their errors mean to a user."""
