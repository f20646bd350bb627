import type {
  Manifest,
  OfferedKinds,
  Prompt,
  Resource,
  ResourceTemplate,
  ServerInstructions,
} from '@signalbox/protocol';

/** The instructions, resources and prompts that the role may see, as the orchestrator last listed them. */
export interface CurrentOffers {
  kinds: OfferedKinds;
  prompts: readonly Prompt[];
  resources: readonly Resource[];
  templates: readonly ResourceTemplate[];
  instructions: readonly ServerInstructions[];
}

/** Stands for the offers before the first list. */
export const noOffers: CurrentOffers = {
  kinds: {},
  prompts: [],
  resources: [],
  templates: [],
  instructions: [],
};

/** Reads the offers of a whole manifest. */
export function offersOf({
  offers = {},
  prompts = [],
  resources = [],
  resource_templates: templates = [],
  instructions = [],
}: Manifest): CurrentOffers {
  return { kinds: offers, prompts, resources, templates, instructions };
}
