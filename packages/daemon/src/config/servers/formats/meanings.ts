import { isAbsolute, join } from 'node:path';
import { parseEnv } from 'node:util';
import { isSetting } from '@signalbox/mcp-host/rules';
import { readReferredFile, readVariable } from '../../document/references.ts';
import type { EntryReader, Meaning, Outcome } from './client-format.ts';

/** Makes a key mean the same as one of ours. */
export const ours = (key: string): Meaning => ({ ours: key });

/** Makes a key hold the time of one of our keys, in units of so many milliseconds. */
export const time = (key: string, unitMs: number): Meaning => ({
  read: (value) => ({
    entry: { [key]: typeof value === 'number' ? Math.max(1, Math.round(value * unitMs)) : value },
  }),
});

/** `enabled: false` is our `disabled: true`. */
export const enabled: Meaning = {
  read: (value) => ({ entry: { disabled: typeof value === 'boolean' ? !value : value } }),
};

/**
 * The names of the only tools that are shown. A client that reads `*` as a name shows no tool for it, so that an entry with a pattern
 * can't be used. Gemini and Qwen pass over a bracket behind a name.
 */
export const exactTools = {
  read: (value: unknown): Outcome => {
    if (!Array.isArray(value)) return { entry: { includeTools: value } };
    if (value.some((name) => typeof name === 'string' && name.includes('*')))
      return { refused: 'its client reads * as part of a name: name the tools one by one' };
    return {
      entry: {
        includeTools: value.map((name) =>
          typeof name === 'string' ? name.replace(/^(.+?)\(.*$/s, '$1') : name,
        ),
      },
    };
  },
} satisfies Meaning;

/** The names of the only tools that are shown; `*` among them stands for all. */
export const includedTools: Meaning = {
  read: (value) => (Array.isArray(value) && value.includes('*') ? { entry: {} } : exactTools.read(value)),
};

/** The names of the tools that are not shown. A text with commas, as `mcp add --exclude-tools a,b` writes it, names several. */
export const excludedTools: Meaning = {
  read: (value) => ({
    entry: {
      excludeTools: Array.isArray(value)
        ? [
            ...new Set(
              value.flatMap((name) => (typeof name === 'string' ? [name, ...name.split(',')] : [name])),
            ),
          ]
        : value,
    },
  }),
};

/** The variables of a file of lines `NAME=value`. A relative path starts at the workspace. */
export const envFile: Meaning = {
  read: (value, reader) => {
    if (typeof value !== 'string') return { refused: 'must be a path' };
    const { sources } = reader;
    const directory = sources.editor?.workspaceFolder ?? '';
    const read = readReferredFile(
      isAbsolute(value) || /^~(\/|$)/.test(value) ? value : join(directory, value),
      sources,
    );
    if ('problem' in read) return { refused: read.problem };
    const env = parseEnv(read.value) as Record<string, string>;
    for (const [name, text] of Object.entries(env))
      if (!isSetting(name, text)) reader.addSecrets(text, [text]);
    return { entry: { env } };
  },
};

/** A variable that holds the token of the header `Authorization`. */
export const bearerVariable: Meaning = {
  read: (value, reader) => headersOf({ Authorization: value }, 'Bearer ', reader),
};

/** Variables that hold headers, by the names of the headers. */
export const headerVariables: Meaning = {
  read: (value, reader) => headersOf(value, '', reader),
};

function headersOf(variables: unknown, before: string, { sources, addSecrets }: EntryReader): Outcome {
  if (typeof variables !== 'object' || variables === null)
    return { refused: 'must be a mapping (key: value)' };
  const headers: Record<string, string> = {};
  for (const [header, variable] of Object.entries(variables)) {
    const read = readVariable(String(variable), sources);
    if ('problem' in read) return { refused: read.problem };
    headers[header] = before + read.value;
    if (read.isSecret) addSecrets(headers[header], [read.value]);
  }
  return { entry: { headers } };
}

/** Variables that the server gets as they are where Signalbox runs. */
export const passedVariables: Meaning = {
  read: (value) => {
    if (!Array.isArray(value)) return { entry: { inheritEnv: value } };
    const elsewhere = value.find(
      (one) => typeof one === 'object' && one?.source !== undefined && one.source !== 'local',
    );
    if (elsewhere) return { refused: `only variables with source = "local" can be passed on` };
    return {
      entry: { inheritEnv: value.map((one) => (typeof one === 'object' && one !== null ? one.name : one)) },
    };
  },
};

/** The words of a command in one list. */
export const commandWords: Meaning = {
  read: (value) => {
    if (!Array.isArray(value)) return { entry: { command: value } };
    const [command, ...args] = value;
    return { entry: { command, ...(args.length > 0 && { args }) } };
  },
};

/** A client's own rule for calls: `allowed` are the values with which it asks nobody more than it would anyway. */
export const approvalMode = (allowed: readonly string[]): Meaning => ({
  read: (value) =>
    allowed.includes(String(value))
      ? { ignored: 'roles decide which calls are made' }
      : { refused: asksFirst },
});

/** Codex's rules for single tools. It has none but a person's approval. */
export const codexTools: Meaning = {
  read: (value) => {
    const rules = Object.values(Object(value)).flatMap((tool) => Object.entries(Object(tool)));
    const isOpen = rules.every(
      ([key, mode]) => key === 'approval_mode' && ['auto', 'approve'].includes(String(mode)),
    );
    return isOpen ? { ignored: 'roles decide which calls are made' } : { refused: asksFirst };
  },
};

/** The place where Codex starts a server. */
export const codexEnvironment: Meaning = {
  read: (value) =>
    value === 'local'
      ? { ignored: 'Signalbox starts servers here' }
      : { refused: 'its client starts the server elsewhere: write it into signalbox.yaml' },
};

/** The reason for an entry whose calls a person approves at its client. */
export const asksFirst =
  'its client asks a person before calls: write the server into signalbox.yaml, with a rule of roles.NAME.ask';
