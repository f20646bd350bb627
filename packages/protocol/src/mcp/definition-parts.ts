import { z } from 'zod';

/** Accepts an optional text. */
export const optionalText = z.string().optional();
/** Accepts an optional `_meta`. */
export const optionalMeta = z.record(z.string(), z.unknown()).optional();

const iconSchema = z.looseObject({
  src: z.string(),
  mimeType: optionalText,
  sizes: z.array(z.string()).optional(),
  theme: z.enum(['light', 'dark']).optional(),
});

/** The fields that tools, prompts, resources and templates share. */
export const sharedFields = {
  title: optionalText,
  description: optionalText,
  icons: z.array(iconSchema).optional(),
  _meta: optionalMeta,
};

/** Accepts the annotations of a resource, a template or a block of content. */
export const annotationsSchema = z.looseObject({
  audience: z.array(z.enum(['user', 'assistant'])).optional(),
  priority: z.number().min(0).max(1).optional(),
  lastModified: z.iso.datetime({ offset: true }).optional(),
});
