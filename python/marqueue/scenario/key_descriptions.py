"""What the keys of a table mean: the docstrings below the fields of its class.

They are read from the source when help, a schema or a message asks for them. pydantic can read them
too (``use_attribute_docstrings``), but does so at every import.
"""

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from itertools import pairwise


@cache
def key_descriptions(table: type) -> Mapping[str, str]:
    """The descriptions of the fields of a class by their names, inherited ones included."""
    found: dict[str, str] = {}
    for above in table.__bases__:
        if above.__module__.partition(".")[0] == __name__.partition(".")[0]:
            found |= key_descriptions(above)
    [own] = ast.parse(inspect.getsource(table)).body
    assert isinstance(own, ast.ClassDef)
    for field, text in pairwise(own.body):
        match field, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(said))),
            ):
                found[name] = inspect.cleandoc(said)
    return found
