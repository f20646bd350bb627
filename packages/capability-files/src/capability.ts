import { type ArgumentCheck, compileArguments } from '@signalbox/argument-check';
import { ResponseCache } from '@signalbox/mcp-host';
import { SignalboxError, type Tool } from '@signalbox/protocol';
import { compileProviders, type Provider } from './provider.ts';
import type { CapabilityDocument } from './schema.ts';
import { readSecret, type SecretSources } from './secret.ts';
import { isRecord } from './service.ts';
import type { Values } from './template.ts';
import { type DocumentProblem, type InputNames, TemplateReader } from './template-reader.ts';

/** One tool of a capability file, ready to be called. */
export interface Capability {
  tool: Tool;
  check: ArgumentCheck;
  /** For structured results; `undefined` where the file promises no shape. */
  outputCheck: ArgumentCheck | undefined;
  /** What properties are that the caller leaves out. */
  defaults: Values;
  /** The primary first. */
  providers: readonly Provider[];
  secrets: SecretSources;
  /** Its results, which are the same for every caller, and how long they hold; `undefined`: they are not kept. */
  cache: ResponseCache | undefined;
  ttlMs: number | undefined;
}

/** Makes a tool of a document, or says all that is wrong with it. Secrets are read once, to see that they are there. */
export function compileCapability(
  document: CapabilityDocument,
  secrets: SecretSources,
  now: () => number,
): { capability: Capability } | { problems: DocumentProblem[] } {
  const tool = toolOf(document);
  const { names, defaults } = inputOf(tool);
  const reader = new TemplateReader(names);
  const providers = compileProviders(document, reader);
  const check = compileArguments(tool);
  const outputCheck =
    document.schema?.output && compileArguments({ ...tool, inputSchema: document.schema.output });
  if (check.problem !== undefined) reader.refuse(['schema', 'input'], check.problem);
  if (outputCheck?.problem !== undefined) reader.refuse(['schema', 'output'], outputCheck.problem);
  checkMetadata(document, reader);
  for (const { auth, authPath } of providers) {
    const problem = auth && secretProblem(auth.key, secrets);
    if (problem !== undefined) reader.refuse([...authPath, 'key'], problem);
  }
  if (reader.problems.length > 0) return { problems: reader.problems };
  const ttlMs = document.cache && document.cache.ttl * 1_000;
  const cache = document.cache && new ResponseCache({ now, entriesPerTool: 64 });
  return { capability: { tool, check, outputCheck, defaults, providers, secrets, cache, ttlMs } };
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
  const properties = isRecord(inputSchema.properties) ? inputSchema.properties : {};
  const required = Array.isArray(inputSchema.required) ? inputSchema.required : [];
  const defaults = Object.fromEntries(
    Object.entries(properties).flatMap(([name, property]) =>
      isRecord(property) && property.default !== undefined ? [[name, property.default]] : [],
    ),
  );
  const known = new Set(Object.keys(properties));
  const certain = new Set(
    [...known].filter((name) => required.includes(name) || Object.hasOwn(defaults, name)),
  );
  return { names: { known, certain }, defaults };
}

function checkMetadata({ metadata = {}, cache }: CapabilityDocument, reader: TemplateReader): void {
  if (metadata.read_only && metadata.destructive) {
    reader.refuse(['metadata', 'destructive'], 'contradicts read_only; keep one of the two');
  }
  if (cache && !metadata.read_only) {
    reader.refuse(['cache'], 'only a tool that changes nothing may be cached; set metadata.read_only: true');
  }
}

function secretProblem(reference: string, sources: SecretSources): string | undefined {
  try {
    readSecret(reference, sources);
    return undefined;
  } catch (error) {
    if (error instanceof SignalboxError) return error.message;
    throw error;
  }
}
