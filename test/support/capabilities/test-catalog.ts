import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type CapabilityCatalog,
  type CapabilityOptions,
  openCapabilities,
} from '@signalbox/mcp-host/capability-files';
import type { CallOptions, ToolCallResult } from '@signalbox/mcp-host/tool-calls';
import { tempDir } from '@signalbox/testing';

export interface TestCatalog extends AsyncDisposable {
  catalog: CapabilityCatalog;
  directory: string;
  /** Writes files below the folder that is read. */
  write(files: Record<string, unknown>): Promise<void>;
  call(tool: string, args?: Record<string, unknown>, options?: Partial<CallOptions>): Promise<ToolCallResult>;
  events: { event: string; [fact: string]: unknown }[];
}

/** Opens a catalog over a folder of its own. Files that are not given as text are written as JSON, which is also YAML. */
export async function openCatalog(
  files: Record<string, unknown>,
  options: Partial<CapabilityOptions> = {},
): Promise<TestCatalog> {
  const home = await tempDir();
  const directory = join(home.path, 'capabilities');
  const write = async (more: Record<string, unknown>) => {
    for (const [name, content] of Object.entries(more)) {
      const path = join(directory, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
    }
  };
  await mkdir(directory);
  await write(files);
  const events: TestCatalog['events'] = [];
  const log = (event: TestCatalog['events'][number]) => events.push(event);
  const catalog = await openCapabilities({ paths: [directory], env: {}, log, ...options });
  return {
    catalog,
    directory,
    write,
    events,
    async call(tool, args = {}, more = {}) {
      const checked = catalog.check(tool, args);
      if ('error' in checked) return checked;
      const options = { signal: new AbortController().signal, timeoutMs: 5_000, ...more };
      return await catalog.call(tool, checked.args, options);
    },
    async [Symbol.asyncDispose]() {
      await catalog[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

/** Resolves at the next change after `act`. */
export async function changeAfter(catalog: CapabilityCatalog, act: () => Promise<void>): Promise<void> {
  const changes = new EventTarget();
  const stop = catalog.onChanged(() => changes.dispatchEvent(new Event('change')));
  const changed = once(changes, 'change');
  await act();
  await changed;
  stop();
}

/** Returns a REST tool as JSON. Fields that are not given get the smallest values that work. */
export function restTool(
  name: string,
  config: Record<string, unknown>,
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  return { name, providers: { primary: { service: 'rest', config } }, ...more };
}

export function input(properties: Record<string, unknown>, required: string[] = []) {
  return { schema: { input: { type: 'object', properties, required } } };
}
