import { isJsonObject, type Tool } from '@signalbox/protocol';
import { type ArgumentCheck, compileArgumentCheck } from '../../argument-check/index.ts';
import { ResponseCache } from '../../tool-calls/index.ts';
import type { SecretSources } from '../secrets/secret.ts';
import type { Values } from '../templates/template.ts';
import { type DocumentProblem, type InputNames, TemplateCompiler } from '../templates/template-compiler.ts';
import type { CapabilityDocument } from './capability-document.ts';
import { checkSecret, compileProviders, type Provider } from './compile-provider.ts';

/** One tool of a capability file, ready to be called. */
export interface Capability {
  tool: Tool;
  check: ArgumentCheck;
  /** The check of structured results; `undefined` if the file promises no shape. */
  outputCheck: ArgumentCheck | undefined;
  /** The values of properties that the caller leaves out. */
  defaults: Values;
  /** The primary provider, and after it the fallbacks. */
  providers: readonly Provider[];
  secrets: SecretSources;
  /** Keeps results, which are the same for every caller; `undefined` if they are not kept. */
  cache: ResponseCache | undefined;
}

/** Compiles a document to a tool, or returns all of its problems. Each secret is read once, to check that it exists. */
export function compileCapability(
  document: CapabilityDocument,
  secrets: SecretSources,
  now: () => number,
): { capability: Capability } | { problems: DocumentProblem[] } {
  const tool = toolOf(document);
  const { names, defaults } = inputOf(tool);
  const templates = new TemplateCompiler(names);
  const providers = compileProviders(document, templates);
  const check = compileArgumentCheck(tool.inputSchema);
  const outputCheck = document.schema?.output && compileArgumentCheck(document.schema.output);
  if (check.problem !== undefined) templates.report(['schema', 'input'], check.problem);
  if (outputCheck?.problem !== undefined) templates.report(['schema', 'output'], outputCheck.problem);
  checkMetadata(document, templates);
  for (const provider of providers) checkSecret(provider, secrets, templates);
  if (templates.problems.length > 0) return { problems: templates.problems };
  const cache = document.cache && cacheOf(document.cache.ttl * 1_000, now);
  return { capability: { tool, check, outputCheck, defaults, providers, secrets, cache } };
}

function cacheOf(ttlMs: number, now: () => number): ResponseCache {
  const lifetimeOf = () => ({ ttlMs, public: true });
  return new ResponseCache({ now, entriesPerTool: 64, lifetimeOf });
}

function toolOf({ name, title, description, schema, metadata = {} }: CapabilityDocument): Tool {
  const annotations = {
    ...(title !== undefined && { title }),
    ...(metadata.read_only !== undefined && { readOnlyHint: metadata.read_only }),
    ...(metadata.idempotent !== undefined && { idempotentHint: metadata.idempotent }),
    ...(metadata.destructive !== undefined && { destructiveHint: metadata.destructive }),
  };
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema: schema?.input ?? { type: 'object', properties: {}, additionalProperties: false },
    ...(schema?.output && { outputSchema: schema.output }),
    ...(Object.keys(annotations).length > 0 && { annotations }),
    ...(metadata.tags && { _meta: { 'signalbox/tags': metadata.tags } }),
  };
}

function inputOf({ inputSchema }: Tool): { names: InputNames; defaults: Values } {
  const properties = isJsonObject(inputSchema.properties) ? inputSchema.properties : {};
  const required = Array.isArray(inputSchema.required) ? inputSchema.required : [];
  const defaults = Object.fromEntries(
    Object.entries(properties).flatMap(([name, property]) =>
      isJsonObject(property) && property.default !== undefined ? [[name, property.default]] : [],
    ),
  );
  const known = new Set(Object.keys(properties));
  const certain = new Set(
    [...known].filter((name) => required.includes(name) || Object.hasOwn(defaults, name)),
  );
  return { names: { known, certain }, defaults };
}

function checkMetadata({ metadata = {}, cache }: CapabilityDocument, templates: TemplateCompiler): void {
  if (metadata.read_only && metadata.destructive) {
    templates.report(['metadata', 'destructive'], 'contradicts read_only; keep one of the two');
  }
  if (cache && !metadata.read_only) {
    templates.report(
      ['cache'],
      'only a tool that changes nothing may be cached; set metadata.read_only: true',
    );
  }
}
