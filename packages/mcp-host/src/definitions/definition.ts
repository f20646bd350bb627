import { createHash } from 'node:crypto';
import type { DefinitionKind, Prompt, Tool } from '@signalbox/protocol';
import type { Definition, DefinitionKey } from '@signalbox/store/journal';
import { canonicalJson } from '../tool-calls/index.ts';

/** The name of the only definition of the kind `instructions`. */
export const instructionsName = 'instructions';

/** Makes the definition of a tool, a prompt or the instructions. All fields count, including unknown ones. */
export function definitionOf(kind: DefinitionKind, name: string, value: unknown): Definition {
  return { kind, name, hash: definitionHash(value), value };
}

/** Makes the definitions of a list of tools or prompts. `sent` holds those whose server sent another form than the list has. */
export function definitionsOf(
  kind: 'tool' | 'prompt',
  list: readonly (Tool | Prompt)[],
  sent?: ReadonlyMap<string, object>,
): Definition[] {
  return list.map((entry) => definitionOf(kind, entry.name, sent?.get(entry.name) ?? entry));
}

/** Makes the definition of the instructions of a server; none if it has none. */
export function definitionsOfInstructions(text: string | undefined): Definition[] {
  return text === undefined ? [] : [definitionOf('instructions', instructionsName, text)];
}

function definitionHash(value: unknown): string {
  const text = canonicalJson(value) ?? JSON.stringify(value);
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** Returns a text that distinguishes a definition from all others of its server. */
export function keyText({ kind, name }: DefinitionKey): string {
  return `${kind} ${name}`;
}
