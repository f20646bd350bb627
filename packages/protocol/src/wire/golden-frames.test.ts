import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { brokerFrameSchemas } from './broker-frames.ts';
import { clientFrameSchemas } from './client-frames.ts';
import { encodeFrame, splitFrames } from './frame-text.ts';
import { parseBrokerFrame, parseClientFrame } from './parse-frame.ts';

const folder = new URL('../../../../docs/protocol/fixtures/', import.meta.url);
const files = readdirSync(folder);

describe('the golden frames of docs/protocol', () => {
  it('cover every frame type', () => {
    const types = files.flatMap((file) =>
      [...splitFrames(text(file))].map(({ header }) => JSON.parse(header).type),
    );
    const known = [...Object.keys(clientFrameSchemas), ...Object.keys(brokerFrameSchemas)];
    expect(new Set(types)).toEqual(new Set(known));
  });

  it.each(files)('%s is read without loss and written back byte for byte', (file) => {
    const written = [...splitFrames(text(file))].map(({ header, body }) => {
      const frame = file.startsWith('client-') ? parseClientFrame(header).frame : parseBrokerFrame(header);
      expect(frame, header).toBeDefined();
      const { body: announced, ...fields } = JSON.parse(header);
      expect(frame).toEqual(fields);
      expect(announced).toBe(body === undefined ? undefined : true);
      return encodeFrame(fields, body);
    });
    expect(written.join('')).toBe(text(file));
  });
});

function text(file: string): string {
  return readFileSync(new URL(file, folder), 'utf8');
}
