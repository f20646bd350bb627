const KiB = 1024;
const MiB = 1024 * KiB;

/** Bounds the data that one server may make the host keep. A configuration sets them under `limits` of the server. */
export interface ServerLimits {
  /** The most bytes of the definition of one tool, prompt, resource or template, written as JSON. A larger one is left out. */
  toolBytes: number;
  /** The most tools that are shown. Further tools are left out. */
  tools: number;
  /** The most bytes of the definitions of all tools together, and of each other list. Definitions that no longer fit are left out. */
  toolListBytes: number;
  /** The most prompts that are shown. */
  prompts: number;
  /** The most resources that are shown, and the most templates of resources. */
  resources: number;
  /** The most bytes of one message of the server, decompressed: an answer, or a notification. */
  answerBytes: number;
}

/** The limits of a server whose configuration sets none. An answer that is too long ends a stdio server, so its bound is wider. */
export const defaultServerLimits = {
  toolBytes: 64 * KiB,
  tools: 1_000,
  toolListBytes: 4 * MiB,
  prompts: 1_000,
  resources: 10_000,
  answerBytes: { stdio: 32 * MiB, http: 8 * MiB },
} as const;

/**
 * The most values, names and containers of one message of a server. No configuration raises it: results may have fewer, because readers of
 * message bodies accept only so many, and a list of 4 MiB has fewer anyway.
 */
export const maxAnswerNodes = 1_000_000;

/** Returns the limits of a server, with the defaults filled in. */
export function limitsOf({
  type,
  limits = {},
}: {
  type: 'stdio' | 'http' | 'remote';
  limits?: Partial<ServerLimits>;
}): ServerLimits {
  const answerBytes = defaultServerLimits.answerBytes[type === 'stdio' ? 'stdio' : 'http'];
  return { ...defaultServerLimits, answerBytes, ...limits };
}
