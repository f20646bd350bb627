import type { ReferenceSources, ReferenceSyntax } from '../../document/references.ts';

/** The variables and files that a format may read for an entry, and the place where it says which texts are secrets. */
export interface EntryReader {
  sources: ReferenceSources;
  /** Records that a text holds a secret, or several. */
  addSecrets: (text: string, secrets: readonly string[]) => void;
}

/**
 * The outcome of a key of another client's entry: keys of ours with their values, nothing, or a reason why the entry can't be used as that
 * client means it.
 */
export type Outcome =
  | { entry: Readonly<Record<string, unknown>> }
  | { ignored: string }
  | { refused: string };

/** The meaning of a key: that of one of our keys, always the same outcome, or what is worked out from its value. */
export type Meaning =
  | { ours: string }
  | Exclude<Outcome, { entry: unknown }>
  | { read: (value: unknown, reader: EntryReader) => Outcome };

/** A file in which a client keeps which of its servers are off. */
export interface SwitchFile {
  /** Relative to the file of the servers, or in the home. */
  path: string;
  /** True if the names of the servers are the keys of the file, so that all of it is read. */
  isWhole?: true;
  isOff: (content: Readonly<Record<string, unknown>>, server: string) => boolean;
}

/** The content of a {@link SwitchFile}, empty if there is none, or the reason why it can't be read. */
export type Switches = { content: Readonly<Record<string, unknown>> } | { problem: string };

/** The rules of the rest of a file for one of its servers. */
export interface ServerRules {
  disabled?: true;
  includeTools?: string[];
  excludeTools?: string[];
  /** The reason why its rules can't be kept. */
  refused?: string;
}

/** The way in which a client writes its MCP servers into a file. */
export interface ClientFormat {
  /** The clients that write it, for messages. */
  clients: string;
  /** The key of the object that holds the servers by name. */
  section: string;
  /** The paths of files that are always of this format; a format without it is found by its section. */
  file?: RegExp;
  references: ReferenceSyntax;
  /** The keys of an entry that mean something else than in the other formats. */
  keys?: Readonly<Record<string, Meaning>>;
  /** The keys that say how a server is reached. If an entry has several, the first one counts. */
  firstOf?: readonly string[];
  /** The transport of an entry that has only a URL, if it is not Streamable HTTP. */
  urlAlone?: 'sse';
  /** The other keys of the file that `rules` reads. */
  alsoRead?: readonly string[];
  /** Reads what the rest of the file says about a server. `root` is the object that holds the section. */
  rules?: (root: Readonly<Record<string, unknown>>, server: string) => ServerRules;
  switches?: SwitchFile;
}
