import type {
  Manifest,
  McpContentKinds,
  Prompt,
  Resource,
  ResourceTemplate,
  ServerInstructions,
} from '@signalbox/protocol';

/** The instructions, resources and prompts that the role may see, as the orchestrator last listed them. */
export interface CurrentMcpContent {
  kinds: McpContentKinds;
  prompts: readonly Prompt[];
  resources: readonly Resource[];
  templates: readonly ResourceTemplate[];
  instructions: readonly ServerInstructions[];
}

/** Stands for the prompts and resources before the first list. */
export const noMcpContent: CurrentMcpContent = {
  kinds: {},
  prompts: [],
  resources: [],
  templates: [],
  instructions: [],
};

/** Reads the prompts and resources of a whole manifest. */
export function mcpContentOf({
  mcp_content: kinds = {},
  prompts = [],
  resources = [],
  resource_templates: templates = [],
  instructions = [],
}: Manifest): CurrentMcpContent {
  return { kinds, prompts, resources, templates, instructions };
}
