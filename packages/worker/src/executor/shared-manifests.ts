import { createHash } from 'node:crypto';
import type { MailboxAccess, Manifest, McpContentKinds, Tool, UnreadHint } from '@signalbox/protocol';
import { within } from '@signalbox/serving';
import { type CurrentMcpContent, mcpContentOf, noMcpContent } from './current-mcp-content.ts';

/** A whole list of an orchestrator, as it is shown. All executors of a process that see the same list have the same object. */
export interface ReadManifest {
  version: string;
  /** The listed tools by name, in the orchestrator's order. */
  tools: ReadonlyMap<string, Tool>;
  mcpContent: CurrentMcpContent;
  /** See the fields of `Manifest`. */
  hasUnlisted: boolean;
  mailbox: MailboxAccess | undefined;
  unreadHint: UnreadHint | undefined;
  keepsResults: boolean;
  /** Texts that differ between two lists exactly if that part does. */
  digests: { tools: string; prompts: string; resources: string };
}

/** Stands for the list before the first one. */
export const noManifest: ReadManifest = {
  ...{ version: '', tools: new Map(), mcpContent: noMcpContent },
  ...{ hasUnlisted: false, mailbox: undefined, unreadHint: undefined, keepsResults: false },
  digests: { tools: '', prompts: '', resources: '' },
};

/** Reads a whole manifest. */
export function readManifest(manifest: Manifest): ReadManifest {
  const { version, tools = [], mailbox, unread_hint: unreadHint } = manifest;
  const [hasUnlisted, keepsResults] = [manifest.has_unlisted === true, manifest.keeps_results === true];
  const mcpContent = mcpContentOf(manifest);
  return {
    ...{ version, mcpContent, hasUnlisted, mailbox, unreadHint, keepsResults },
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    digests: {
      tools: digestOf([tools, hasUnlisted, mailbox, unreadHint, keepsResults]),
      prompts: digestOf(mcpContent.prompts),
      resources: digestOf([mcpContent.resources, mcpContent.templates]),
    },
  };
}

/** Returns the kinds of MCP content in which two lists differ. */
export function changedMcpContent(
  { digests: before }: ReadManifest,
  { digests: after }: ReadManifest,
): McpContentKinds {
  return {
    ...(before.prompts !== after.prompts && { prompts: true }),
    ...(before.resources !== after.resources && { resources: true }),
  };
}

function digestOf(part: unknown): string {
  return createHash('sha256').update(JSON.stringify(part)).digest('base64');
}

/** The longest time for which an executor waits for the list that another one reads, in milliseconds. */
const longestWaitMs = 2_000;

/**
 * The lists of one orchestrator that the executors of this process have read. Each of them asks the orchestrator itself, which version its
 * role sees; but the list of a version is read and kept once.
 */
export class SharedManifests {
  readonly #newest = new Map<string, ReadManifest>();
  readonly #reading = new Map<string, Promise<unknown>>();

  /** Returns the list that was last read for a role. */
  newest(role: string): ReadManifest | undefined {
    return this.#newest.get(role);
  }

  /**
   * Carries out `read`, which asks for the list of a role. While another executor reads a list that may be the same, it waits, unless it
   * has to be `fresh`: `known` is the version that is shown now. Rejects as `read` does.
   */
  async read(
    role: string,
    { known, fresh }: { known: string; fresh: boolean },
    read: () => Promise<ReadManifest>,
  ): Promise<ReadManifest> {
    const reading = this.#reading.get(role);
    const newest = this.#newest.get(role)?.version ?? known;
    if (reading && !fresh && newest === known) await within(reading, longestWaitMs).catch(() => {});
    const own = read();
    this.#reading.set(role, own);
    try {
      const manifest = await own;
      this.#newest.set(role, manifest);
      return manifest;
    } finally {
      if (this.#reading.get(role) === own) this.#reading.delete(role);
    }
  }
}

const shared = new Map<string, WeakRef<SharedManifests>>();

/** Returns the lists of an orchestrator that all executors of this process share, as long as one of them has them. */
export function sharedManifests(url: string, orchestrator: string): SharedManifests {
  const key = `${url} ${orchestrator}`;
  const known = shared.get(key)?.deref();
  if (known) return known;
  const lists = new SharedManifests();
  shared.set(key, new WeakRef(lists));
  return lists;
}
