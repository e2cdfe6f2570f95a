"""What is wrong with an expression."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExpressionProblem:
    """One reason why an expression is refused; `offset` is the character of the text where it lies."""

    message: str
    offset: int | None = None
    suggestion: str | None = None

    def __str__(self) -> str:
        return f"{self.message} ({self.suggestion})" if self.suggestion else self.message
