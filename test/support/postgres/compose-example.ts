import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** The folder of the example with several brokers. */
export const exampleFolder = fileURLToPath(new URL('../../../deploy/several-brokers/', import.meta.url));

interface Service {
  command: string[];
  volumes: string[];
  ports?: string[];
  depends_on?: Record<string, unknown>;
}

/** The compose file of the example. */
export interface ComposeExample {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
}

/** Reads the compose file of the example. */
export function composeExample(): ComposeExample {
  return parse(readFileSync(`${exampleFolder}compose.yaml`, 'utf8'), { merge: true }) as ComposeExample;
}

/** Returns the settings that a service gives to PostgreSQL with `-c`. */
export function postgresSettings({ services }: ComposeExample, name: string): Record<string, string> {
  const { command } = services[name]!;
  const settings = command.filter((_, at) => command[at - 1] === '-c');
  return Object.fromEntries(settings.map((setting) => setting.split('=', 2) as [string, string]));
}
