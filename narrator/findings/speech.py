"""What a message holds that can be read: text, reasoning, calls."""

from __future__ import annotations

from narrator.session import Message, Reasoning, Text, ToolCall


def typed_text(message: Message) -> str:
    """What a person typed in a user message: synthetic parts left out, the quotes `opencode run` adds stripped."""
    text = "\n".join(block.text for block in message.blocks if isinstance(block, Text) and not block.synthetic).strip()
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1] else text


def says_nothing(message: Message) -> bool:
    """Whether it holds neither text nor reasoning nor a tool call that is more than white space."""
    return not (has_text(message) or has_reasoning(message) or has_call(message))


def has_text(message: Message) -> bool:
    """Some text that is more than white space."""
    return any(isinstance(block, Text) and block.text.strip() for block in message.blocks)


def has_reasoning(message: Message) -> bool:
    """Some reasoning is recorded; encrypted reasoning has no text but is counted in tokens."""
    thoughts = [block for block in message.blocks if isinstance(block, Reasoning)]
    counted = message.tokens.reasoning if message.tokens else 0
    return any(thought.text.strip() for thought in thoughts) or bool(thoughts and counted)


def has_call(message: Message) -> bool:
    """Some tool call."""
    return any(isinstance(block, ToolCall) for block in message.blocks)
