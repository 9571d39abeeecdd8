"""Sessions behind the interfaces of agent frameworks, one module each, each with its extra."""

__all__: list[str] = []
