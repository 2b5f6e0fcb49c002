// The JSON Schema of scenarios as descriptions of form fields. Everything that the forms know of scenarios is read
// from it: units, defaults, ranges, choices and the texts of the hints.

import { isTable, type Path, type Tree, valueAt } from './path';
import { unitsOf } from './quantity';

interface Node {
  $ref?: string;
  $defs?: Record<string, Node>;
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  pattern?: string;
  examples?: unknown[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  items?: Node;
  properties?: Record<string, Node>;
  additionalProperties?: boolean | Node;
  required?: string[];
  anyOf?: Node[];
  oneOf?: Node[];
}

interface Common {
  /** The last key of its path. */
  key: string;
  hint: string;
  /** What holds if it is not given; undefined if there is nothing to show. */
  fallback: unknown;
  required: boolean;
}

export type Field = Common & (
  | { kind: 'quantity'; units: string[]; words: string[]; example: string }
  | { kind: 'number'; whole: boolean; min: number; max: number }
  | { kind: 'switch' }
  | { kind: 'choice'; choices: string[] }
  | { kind: 'text' }
  | { kind: 'list'; item: Field }
  | { kind: 'tables'; item: Field }
  | { kind: 'map'; item: Field }
  | { kind: 'table'; fields: Field[] }
  /**
   * One of several tables; `tag` is the key that tells which. With `names` the name alone can stand for the table.
   * Their fields are made when asked for: an AQM can contain AQMs.
   */
  | { kind: 'variants'; tag: string; names: boolean; plain: Field | null; variants: Map<string, () => Field[]> }
);

/** The schema of scenarios, ready to ask for fields. */
export class Schema {
  private readonly root: Node;

  constructor(document: object) {
    this.root = document as Node;
  }

  /** The fields at the top of a scenario. */
  fields(): Field[] {
    return this.fieldsOf(this.root);
  }

  /** The field at a path of a scenario; null if the schema does not know it. */
  at(tree: unknown, path: Path): Field | null {
    let fields = this.fields();
    let field: Field | null = null;
    let walked: Path = [];
    for (const step of path) {
      walked = [...walked, step];
      if (field && (field.kind === 'tables' || field.kind === 'map') && (typeof step === 'number' || field.kind === 'map')) {
        field = field.item;
      } else {
        field = fields.find((each) => each.key === step) ?? null;
      }
      if (!field) return null;
      fields = fieldsFor(field, valueAt(tree, walked));
    }
    return field;
  }

  private fieldsOf(node: Node): Field[] {
    return Object.entries(node.properties ?? {})
      .filter(([, each]) => each.const === undefined)
      .map(([key, each]) => this.field(key, each, node.required?.includes(key) ?? false));
  }

  private field(key: string, given: Node, required: boolean): Field {
    const node = this.resolved(given);
    const common: Common = { key, hint: tidy(node.description ?? ''), fallback: node.default ?? undefined, required };
    const options = (node.anyOf ?? node.oneOf ?? []).map((each) => this.resolved(each)).filter((each) => each.type !== 'null');
    if (options.length === 1) return { ...this.field(key, options[0]!, required), ...described(common, options[0]!) };
    if (options.length > 1) return this.union(common, options);
    if (node.enum) return { ...common, kind: 'choice', choices: node.enum.map(String) };
    if (node.pattern && unitsOf(node.pattern).length > 0) return quantity(common, [node]);
    switch (node.type) {
      case 'boolean': return { ...common, kind: 'switch' };
      case 'integer':
      case 'number': return {
        ...common, kind: 'number', whole: node.type === 'integer',
        min: node.minimum ?? node.exclusiveMinimum ?? -Infinity, max: node.maximum ?? node.exclusiveMaximum ?? Infinity,
      };
      case 'array': {
        const item = this.field('', node.items ?? {}, true);
        return item.kind === 'table' || item.kind === 'variants' ? { ...common, kind: 'tables', item } : { ...common, kind: 'list', item };
      }
      case 'object':
        if (node.properties) return { ...common, kind: 'table', fields: this.fieldsOf(node) };
        if (typeof node.additionalProperties === 'object') return { ...common, kind: 'map', item: this.field('', node.additionalProperties, true) };
    }
    return { ...common, kind: 'text' };
  }

  /** One of several types: quantities of different units, names, tables that a tag tells apart. */
  private union(common: Common, options: Node[]): Field {
    const tables = options.filter((each) => each.properties);
    const others = options.filter((each) => !each.properties);
    const tag = ['kind', 'name', 'model'].find((key) => tables.some((each) => each.properties?.[key]?.const !== undefined));
    if (tag) {
      // Left out is a table of many names: the queue of a Linux kernel, which no browser can run.
      const tagged = tables.filter((each) => each.properties?.[tag]?.const !== undefined);
      const variants = new Map(tagged.map((each) => [String(each.properties![tag]!.const), once(() => this.fieldsOf(each))]));
      const names = others.some((each) => each.enum);
      const rest = others.filter((each) => !each.enum);
      const plain = rest.length > 0 ? this.scalar(common, rest) : null;
      return { ...common, kind: 'variants', tag, names, plain, variants };
    }
    if (tables.length === 1 && others.length === 0) return { ...common, kind: 'table', fields: this.fieldsOf(tables[0]!) };
    return this.scalar(common, others);
  }

  private scalar(common: Common, options: Node[]): Field {
    const quantities = options.filter((each) => each.pattern && unitsOf(each.pattern).length > 0);
    const words = options.flatMap((each) => (each.const !== undefined ? [String(each.const)] : []));
    if (quantities.length > 0) return { ...quantity(common, quantities), words } as Field;
    if (options.length === 1) return { ...this.field(common.key, options[0]!, common.required), ...common };
    return { ...common, kind: 'text' };
  }

  private resolved(node: Node): Node {
    let here = node;
    while (here.$ref) {
      const name = here.$ref.replace('#/$defs/', '');
      const { $ref: _, ...own } = here;
      here = { ...this.root.$defs?.[name], ...own };
    }
    return here;
  }
}

/** The fields of a table, given its value. */
export function fieldsFor(field: Field, value: unknown): Field[] {
  if (field.kind === 'table') return field.fields;
  if (field.kind === 'variants') return field.variants.get(variantOf(field, value) ?? '')?.() ?? [];
  return [];
}

/** Which of the variants a value is; null if it tells none. */
export function variantOf(field: Field & { kind: 'variants' }, value: unknown): string | null {
  const tag = isTable(value) ? (value as Tree)[field.tag] : field.names ? value : null;
  return typeof tag === 'string' && field.variants.has(tag) ? tag : null;
}

/** A default in words, for hints and empty fields. */
export function fallbackText(field: Field): string {
  const value = field.fallback;
  if (value === undefined || value === null || value === '') return declared(field.hint);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.join(', ');
  if (isTable(value)) return '';
  return String(value);
}

/** The default that a description tells in words: one that depends on other values. */
function declared(hint: string): string {
  return /Default: (.+?)\.(?: Source|$)/.exec(hint)?.[1] ?? /by default ([^.]+)/.exec(hint)?.[1] ?? '';
}

function described(outer: Common, inner: Node): Partial<Common> {
  const hint = outer.hint || tidy(inner.description ?? '');
  return outer.fallback === undefined ? { hint } : { hint, fallback: outer.fallback };
}

function quantity(common: Common, nodes: Node[]): Field {
  const units = [...new Set(nodes.flatMap((each) => unitsOf(each.pattern ?? '')))];
  // Singular and plural of one unit: people choose from one of them.
  const chosen = units.filter((unit) => !units.includes(`${unit}s`));
  return { ...common, kind: 'quantity', units: chosen, words: [], example: String(nodes[0]?.examples?.[0] ?? '') };
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** Docstrings are wrapped and mark code by two backquotes. */
function tidy(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('``', '').trim();
}
