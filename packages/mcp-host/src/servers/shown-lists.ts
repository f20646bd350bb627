import type { ToolCallError } from '@signalbox/protocol';
import type { DefinitionKey } from '@signalbox/store/journal';
import type { ToolCall } from '../calls/tool-call.ts';
import { definitionsOf, definitionsOfInstructions } from '../definitions/definition.ts';
import { definitionChangedError } from '../definitions/definition-changed.ts';
import { reviewedMcpContent, reviewedTools } from '../definitions/reviewed-lists.ts';
import { type SeenDefinition, ServerDefinitions } from '../definitions/server-definitions.ts';
import { HonouredHints } from '../inventory/honoured-hints.ts';
import { emptyMcpContent, type McpContentList, type ReadMcpContent } from '../inventory/mcp-content-list.ts';
import type { ToolList } from '../inventory/tool-list.ts';
import type { ServerCard } from './server-card.ts';
import type { ServerDeps } from './server-deps.ts';
import { ServerMcpContent, ServerTools } from './server-lists.ts';

/** The lists that an instance has read. */
export interface ReadLists {
  tools?: ToolList;
  mcpContent?: ReadMcpContent;
}

/** Facts about the server of {@link ShownLists}. */
export interface ListingServer {
  server: string;
  /** True if only definitions that match their pins are shown. */
  arePinned: boolean;
  /** The list of tools that is shown until the server has listed its own. */
  inherited: ToolList | undefined;
  /** Aborted when the server is given up. */
  signal: AbortSignal;
}

/** The dependencies of {@link ShownLists}. */
export interface ShownListsDeps extends Pick<ServerDeps, 'pins' | 'tell' | 'onChanged'> {
  /** Called when earlier answers of the server may no longer be true. */
  onStale: () => void;
}

/**
 * Decides what a server lists: its lists or those of its card, with the honoured hints, and without definitions that differ from their
 * pins.
 */
export class ShownLists {
  /** The definitions and their pins; `undefined` if they are not pinned. */
  readonly definitions: ServerDefinitions | undefined;
  readonly #server: string;
  readonly #deps: ShownListsDeps;
  readonly #tools: ServerTools;
  readonly #mcpContent = new ServerMcpContent();
  readonly #hints = new HonouredHints();
  /** The prompts and resources without the withheld ones. */
  #shownMcpContent: McpContentList = emptyMcpContent();
  /** The last list of the server itself, and that of its card, as they came. */
  #own: ToolList | undefined;
  #card: ToolList | undefined;
  #cardProblem: string | undefined;

  constructor({ server, arePinned, inherited, signal }: ListingServer, deps: ShownListsDeps) {
    this.#server = server;
    this.#deps = deps;
    this.#tools = new ServerTools(inherited);
    if (arePinned) this.definitions = this.#pinnedDefinitions(signal);
  }

  /** True once a list of the tools is known. */
  get isKnown(): boolean {
    return this.#tools.isKnown;
  }

  /** The last good list of the tools, with the problems of the list, of the other lists and of the card. */
  get tools(): ToolList {
    const { problems, ...list } = this.#tools.current;
    const own = [this.#cardProblem, this.definitions?.problem].flatMap((message) => message ?? []);
    const first = own.map((message) => ({ message }));
    return { ...list, problems: [...first, ...problems, ...this.#shownMcpContent.problems] };
  }

  /** The prompts, resources and instructions, as far as they are known. */
  get mcpContent(): McpContentList {
    return this.#shownMcpContent;
  }

  /** True if all prompts and resources were listed. */
  get isMcpContentTold(): boolean {
    return this.#mcpContent.areTold;
  }

  /** Pins definitions that are seen for the first time, before they are shown. */
  async meet({ tools, mcpContent }: ReadLists): Promise<void> {
    const { definitions } = this;
    if (!definitions) return;
    if (tools) await definitions.meet('tool', definitionsOf('tool', tools.tools, tools.sent));
    if (!mcpContent) return;
    if (!mcpContent.unread.includes('prompts'))
      await definitions.meet('prompt', definitionsOf('prompt', mcpContent.prompts, mcpContent.sentPrompts));
    await definitions.meet('instructions', definitionsOfInstructions(mcpContent.instructions));
  }

  /** Takes the tools that the server itself has listed. */
  takeTools(list: ToolList): void {
    // A pinned definition was accepted together with its hints.
    this.#own = this.definitions ? list : this.#hints.apply(list);
    this.#reviewTools();
  }

  /** Takes the other lists of the server. */
  takeMcpContent(mcpContent: ReadMcpContent): void {
    if (this.#mcpContent.take(mcpContent)) this.#deps.onStale();
    this.#reviewMcpContent();
  }

  /** Takes the server's card, whose tools are shown until the server has listed its own. */
  async takeCard(card: ServerCard): Promise<void> {
    this.#cardProblem = 'problem' in card ? card.problem : undefined;
    if (!('list' in card)) return;
    await this.meet({ tools: card.list });
    this.#card = card.list;
    this.#reviewTools();
  }

  /** Makes the hints of the next list be honoured. */
  forgetHints(): void {
    this.#hints.forget();
  }

  /** Accepts definitions as they were seen. Resolves with those that have changed since; then none is accepted. */
  async accept(seen: readonly SeenDefinition[], by: string): Promise<DefinitionKey[]> {
    const { definitions } = this;
    if (!definitions) return seen.map(({ kind, name }) => ({ kind, name }));
    const moved = await definitions.accept(seen, by);
    if (moved.length === 0) this.#reviewAll();
    return moved;
  }

  /** Returns the error for a call of a tool, or a request for a prompt, whose definition is withheld now. */
  changeOf({ tool, method, args }: ToolCall): ToolCallError | undefined {
    const isPrompt = method === 'prompts/get';
    if (method && !isPrompt) return undefined;
    const name = isPrompt ? String(args.name) : tool.name;
    const { changed } = isPrompt ? this.#shownMcpContent : this.#tools.current;
    const change = changed?.get(name)?.what;
    return change && definitionChangedError(isPrompt ? 'prompt' : 'tool', name, this.#server, change);
  }

  #pinnedDefinitions(signal: AbortSignal): ServerDefinitions | undefined {
    const { pins, tell } = this.#deps;
    if (!pins) return undefined;
    const server = this.#server;
    const own = new ServerDefinitions(server, pins, (kind, count) => {
      const reason = kind === 'instructions' ? kind : `${count} ${kind}${count === 1 ? '' : 's'}`;
      tell({ server, change: 'pinned', reason });
    });
    const unsubscribe = pins.onChanged(() => void own.readAgain().then(() => this.#reviewAll()));
    signal.addEventListener('abort', unsubscribe, { once: true });
    return own;
  }

  /** Compares all lists with the present pins again. */
  #reviewAll(): void {
    this.#reviewTools();
    this.#reviewMcpContent();
    this.#deps.onChanged();
  }

  /** Shows the tools whose definitions match their pins. The card's list is checked only until the server has listed its own. */
  #reviewTools(): void {
    if (this.#own) {
      if (this.#tools.setListed(this.#reviewed(this.#own))) this.#deps.onStale();
    } else if (this.#card) this.#tools.setCard(this.#reviewed(this.#card));
  }

  #reviewed(list: ToolList): ToolList {
    return reviewedTools({ name: this.#server, definitions: this.definitions }, list);
  }

  #reviewMcpContent(): void {
    const server = { name: this.#server, definitions: this.definitions };
    this.#shownMcpContent = reviewedMcpContent(server, this.#mcpContent.current, {
      prompts: this.#mcpContent.arePromptsTold,
    });
  }
}
