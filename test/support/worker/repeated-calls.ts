import type { SharedFaceStack } from './shared-face.ts';

/** Ends the face as a crash does: nothing is answered, cancelled or acked. */
export async function replaceFace(site: SharedFaceStack): Promise<void> {
  await site.face.close();
  site.face = await site.serve();
}

export function contentOf(answer: Record<string, unknown>): Record<string, unknown> {
  return (answer.result as { structuredContent: Record<string, unknown> }).structuredContent;
}
