"""The documentation: pages made from topics, rules, commands and schemas; figures; its blocks."""
