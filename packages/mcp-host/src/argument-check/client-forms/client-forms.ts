import { type ClientFormsOfTool, isJsonObject, type Tool } from '@signalbox/protocol';
import { LRUCache } from 'lru-cache';
import { canonicalText } from '../json/canonical-text.ts';
import { readSchema } from '../schema/read-schema.ts';
import { type SchemaGraph, SchemaProblem } from '../schema/schema-graph.ts';
import { SchemaValidator } from '../validator/schema-validator.ts';
import { OutOfSteps, StepMeter } from '../validator/step-meter.ts';
import { claudeForm } from './claude-form.ts';
import { codexForm } from './codex-form.ts';
import type { FoundForm, SameMeaning, Unshown } from './found-form.ts';
import { sampleValues } from './sample-values.ts';

type InputSchema = Tool['inputSchema'];

/** The forms of a schema for the clients that need one, and the clients that don't show it as it is meant. */
export interface SchemaForms {
  forms: ClientFormsOfTool;
  unshown: readonly (Unshown & { client: string })[];
}

/** The clients that leave out or change tools, or refuse arguments that fit; `name` is the beginning of the name that the client gives itself. */
const clients: readonly {
  client: string;
  name: string;
  find: (schema: InputSchema, isSame: SameMeaning) => FoundForm;
}[] = [
  { client: 'claude', name: 'claude-code', find: claudeForm },
  { client: 'codex', name: 'codex-mcp-client', find: codexForm },
  { client: 'gemini', name: 'gemini-cli-mcp-client', find: datedForm },
  { client: 'qwen', name: 'qwen-cli-mcp-client', find: datedForm },
];

const nothing: SchemaForms = { forms: {}, unshown: [] };
/** Longer schemas get no other form, in characters of JSON. */
const maxLength = 16_384;
/** The most schemas, and the most comparisons, that are remembered. */
const maxRemembered = 1_000;
/** The longest time in milliseconds that comparisons take in a minute. Few schemas need one, and most of those the same ones. */
const maxMsInMinute = 500;

/** Finds the forms of input schemas for certain clients, and remembers them by the text of the schema. `now` is in monotonic milliseconds. */
export class ClientForms {
  readonly #now: () => number;
  #minute = { startMs: Number.NEGATIVE_INFINITY, spentMs: 0 };
  readonly #bySchema = new WeakMap<InputSchema, SchemaForms>();
  readonly #byText = new LRUCache<string, SchemaForms>({ max: maxRemembered });
  readonly #compared = new LRUCache<string, boolean>({ max: maxRemembered });

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Returns the forms of a schema; the same object each time, once all comparisons could be made. */
  of(schema: InputSchema): SchemaForms {
    const known = this.#bySchema.get(schema);
    if (known) return known;
    const text = canonicalText(schema);
    const forms = text.length > maxLength ? nothing : (this.#byText.get(text) ?? this.#find(schema, text));
    if (this.#isFull) return forms;
    this.#bySchema.set(schema, forms);
    if (forms !== nothing) this.#byText.set(text, forms);
    return forms;
  }

  #find(schema: InputSchema, text: string): SchemaForms {
    const forms: Record<string, InputSchema> = {};
    const unshown: (Unshown & { client: string })[] = [];
    for (const { client, name, find } of clients) {
      const found = find(schema, (one, other) => this.#areSame(one, other));
      if (found.form && canonicalText(found.form) !== text) forms[name] = found.form as InputSchema;
      if (found.unshown) unshown.push({ client, ...found.unshown });
    }
    return Object.keys(forms).length + unshown.length === 0 ? nothing : { forms, unshown };
  }

  #areSame(one: Record<string, unknown>, other: Record<string, unknown>): boolean {
    const key = canonicalText([one, other]);
    let same = this.#compared.get(key);
    if (same === undefined) {
      if (this.#isFull) return false;
      const startMs = this.#now();
      same = haveSameMeaning(one, other);
      this.#minute.spentMs += this.#now() - startMs;
      this.#compared.set(key, same);
    }
    return same;
  }

  /** True if no more comparisons are made in this minute. */
  get #isFull(): boolean {
    if (this.#now() - this.#minute.startMs >= 60_000) this.#minute = { startMs: this.#now(), spentMs: 0 };
    return this.#minute.spentMs >= maxMsInMinute;
  }
}

/** Keywords without which a schema refuses values that it accepts. draft-07 does not know them. */
const laterKeywords = ['prefixItems', 'minContains'];

/**
 * Finds the form of a schema that names its dialect. gemini 0.61 and qwen 0.24 check arguments themselves, and read a schema without
 * `$schema` as one of draft-07. MCP means 2020-12 then.
 */
function datedForm(schema: Record<string, unknown>): FoundForm {
  if (schema.$schema !== undefined || !hasLater(schema)) return {};
  return { form: { $schema: 'https://json-schema.org/draft/2020-12/schema', ...schema } };
}

function hasLater(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasLater);
  if (!isJsonObject(schema)) return false;
  return Object.entries(schema).some(([key, value]) => laterKeywords.includes(key) || hasLater(value));
}

/** The most steps for all values of one comparison. */
const maxSteps = 200_000;
/** The most schema objects of one schema that is compared. */
const maxObjects = 150;

/**
 * Tells whether two schemas accept the same of the values that are generated from both. Returns false also if none of these values fits,
 * if a pattern can't be checked, or if there are too many values. The same schemas always give the same answer.
 */
function haveSameMeaning(one: unknown, other: unknown): boolean {
  try {
    return compare(graphOf(one), graphOf(other));
  } catch (thrown) {
    if (thrown instanceof SchemaProblem || thrown instanceof OutOfSteps || thrown instanceof RangeError)
      return false;
    throw thrown;
  }
}

function graphOf(schema: unknown): SchemaGraph {
  const graph = readSchema(schema);
  if (graph.unchecked.length > 0)
    throw new SchemaProblem(`a pattern can't be checked: ${graph.unchecked[0]}`);
  if (graph.objects > maxObjects) throw new SchemaProblem(`it has more than ${maxObjects} schema objects`);
  return graph;
}

function compare(one: SchemaGraph, other: SchemaGraph): boolean {
  const samples = [sampleValues(one), sampleValues(other)];
  if (samples.includes(undefined)) return false;
  const meter = new StepMeter();
  meter.refill(maxSteps);
  const [first, second] = [new SchemaValidator(one, meter), new SchemaValidator(other, meter)];
  let fitting = 0;
  for (const value of samples.flat()) {
    const fits = first.accepts(first.root, value);
    if (second.accepts(second.root, value) !== fits) return false;
    if (fits) fitting++;
  }
  return fitting > 0;
}
