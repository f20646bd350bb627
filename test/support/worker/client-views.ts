/** The parts of a result that a client may show its model. */
export interface ShownResult {
  content: { type: string; text?: string }[];
  structuredContent?: unknown;
  _meta?: unknown;
}

/** The agent CLIs whose ways to show a result were looked at. */
export const views = {
  /** Claude Code shows the data as JSON if there is any, else the texts. */
  claude: (result: ShownResult) => dataOrTexts(result),
  /** Codex makes the same choice. */
  codex: (result: ShownResult) => dataOrTexts(result),
  /** opencode shows the texts, joined. */
  opencode: (result: ShownResult) => texts(result),
  /** Gemini CLI shows the texts, joined. */
  gemini: (result: ShownResult) => texts(result),
  /** GitHub Copilot CLI shows the texts with nothing between, and the data. */
  copilot: ({ content, structuredContent }: ShownResult) =>
    [...content.map(({ text = '' }) => text), JSON.stringify(structuredContent)].join(''),
} as const satisfies Record<string, (result: ShownResult) => string>;

function dataOrTexts(result: ShownResult): string {
  const { structuredContent } = result;
  return structuredContent === undefined ? texts(result) : JSON.stringify(structuredContent);
}

function texts({ content }: ShownResult): string {
  return content.map(({ text = '' }) => text).join('\n');
}
