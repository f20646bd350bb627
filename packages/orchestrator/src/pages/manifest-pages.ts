import { type Manifest, type ManifestRequest, type McpReply, toolCallError } from '@signalbox/protocol';
import type { RoleView } from '../catalog/catalog.ts';
import type { NotReady } from '../catalog/missing-servers.ts';
import { KeptLists } from './kept-lists.ts';
import { pageTag, readCursor, splitPages, writeCursor } from './pages.ts';

/** The age up to which a kept view is shared by its readers, in milliseconds. */
const sharedMs = 10_000;

type ListName = 'tools' | 'prompts' | 'resources' | 'resource_templates';
type ManifestLists = Pick<Manifest, ListName>;
/** An entry of one of the lists of a manifest. */
type ListItem = readonly [list: ListName, entry: object];

/** The dependencies of lists that are read page by page. */
export interface PagesDeps {
  /** Monotonic milliseconds. */
  now: () => number;
  /** The longest reply that can be delivered, in bytes. */
  maxReplyBytes: () => number;
}

/**
 * Answers requests for manifests page by page. A cursor is valid only for its own version and role: any other cursor is answered with
 * `manifest_moved`, and its reader starts over. For a reader that was too slow several times, the view of its role is kept for thirty
 * seconds.
 */
export class ManifestPages {
  readonly #deps: PagesDeps;
  readonly #pages = new WeakMap<RoleView, ManifestLists[]>();
  readonly #kept: KeptLists<RoleView>;

  constructor(deps: PagesDeps) {
    this.#deps = deps;
    this.#kept = new KeptLists(deps.now, sharedMs);
  }

  /** Answers a request. `present` is the role's present view; `notReady` are the servers that have listed no tool yet. */
  answer(role: string, present: RoleView, request: ManifestRequest, notReady: NotReady = []): McpReply {
    const { known_version, cursor, keep } = request;
    if (cursor === undefined) {
      const { version } = present;
      const missing = notReady.length > 0 ? { not_ready: notReady } : {};
      if (known_version === version) return { manifest: { version, unchanged: true, ...missing } };
      const page = this.#page(role, keep ? this.#kept.keep(role, present) : present, 0);
      return { manifest: { ...page, ...missing } };
    }
    const place = readCursor(cursor);
    if (!place) return badCursor();
    const view = [present, this.#kept.find(role)].find((one) => one && tagOf(role, one) === place.tag);
    if (!view) return moved();
    return place.page < this.#pagesOf(view).length
      ? { manifest: this.#page(role, view, place.page) }
      : badCursor();
  }

  #page(role: string, view: RoleView, page: number): Manifest {
    const { version, mcpContent, hasUnlisted, mailbox, keepsResults } = view;
    const { tools: mailboxTools, unreadHint } = mailbox;
    const pages = this.#pagesOf(view);
    return {
      version,
      ...pages[page]!,
      ...(Object.keys(mcpContent.kinds).length > 0 && { mcp_content: mcpContent.kinds }),
      ...(page === 0 && mcpContent.instructions.length > 0 && { instructions: [...mcpContent.instructions] }),
      ...(page + 1 < pages.length && { cursor: writeCursor({ tag: tagOf(role, view), page: page + 1 }) }),
      ...(hasUnlisted && { has_unlisted: true }),
      ...(mailboxTools !== undefined && { mailbox: mailboxTools && [...mailboxTools] }),
      ...(unreadHint !== undefined && { unread_hint: unreadHint }),
      ...(keepsResults && { keeps_results: true as const }),
    };
  }

  #pagesOf(view: RoleView): ManifestLists[] {
    let pages = this.#pages.get(view);
    if (!pages) {
      pages = splitPages(itemsOf(view), this.#deps.maxReplyBytes()).map(listsOf);
      this.#pages.set(view, pages);
    }
    return pages;
  }
}

/** Returns the lists of a view as one list, in the order of its pages. */
function itemsOf({ tools, mcpContent }: RoleView): ListItem[] {
  const { prompts, resources, templates } = mcpContent;
  return [
    ...tools.map((tool): ListItem => ['tools', tool]),
    ...prompts.map((prompt): ListItem => ['prompts', prompt]),
    ...resources.map((resource): ListItem => ['resources', resource]),
    ...templates.map((template): ListItem => ['resource_templates', template]),
  ];
}

function listsOf(items: readonly ListItem[]): ManifestLists {
  const lists: Record<string, object[]> = { tools: [] };
  for (const [list, item] of items) {
    lists[list] ??= [];
    lists[list].push(item);
  }
  return lists as ManifestLists;
}

function tagOf(role: string, { version }: RoleView): string {
  return pageTag(role, version);
}

/** Returns the answer to a cursor of a list that is no longer the present one. */
export function moved(): McpReply {
  const message = 'the list has changed since its first page; read it again from the start';
  return { error: toolCallError('manifest_moved', message, { mayHaveRun: false }) };
}

/** Returns the answer to a cursor that no answer contained. */
export function badCursor(): McpReply {
  const message = "field 'cursor': it is not the cursor of an earlier page";
  return { error: toolCallError('invalid_arguments', message, { mayHaveRun: false }) };
}
