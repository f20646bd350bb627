import { SendMessageRequest, StreamResponse, Task, TaskState, taskStateToJSON } from '@a2a-js/sdk';
import { isJsonObject } from '@signalbox/protocol';
import { restCodec } from './rest.ts';

type Json = Record<string, unknown>;

/** A state that version 0.3 writes with another name. */
const canceled = taskStateToJSON(TaskState.TASK_STATE_CANCELED);
const legacyCanceled = 'TASK_STATE_CANCELLED';

/**
 * The REST binding of version 0.3. Its JSON differs from that of 1.0 in `content` of messages, files, data and one state. The SDK has this translation only behind Express.
 */
export const legacyRest = restCodec({
  readSend(body) {
    const { message, request = message, configuration, ...rest } = objectOf(body);
    const { blocking, ...settings } = objectOf(configuration);
    return SendMessageRequest.fromJSON({
      ...rest,
      ...(isJsonObject(request) && { message: currentMessage(request) }),
      configuration: { ...settings, returnImmediately: blocking !== true },
    });
  },
  writeTask: (task) => legacyTask(Task.toJSON(task) as Json),
  writeSent: (task) => ({ task: legacyTask(Task.toJSON(task) as Json) }),
  writeEvent(event) {
    const { task, statusUpdate, artifactUpdate } = StreamResponse.toJSON(event) as Record<string, Json>;
    if (task) return { task: legacyTask(task) };
    if (artifactUpdate)
      return {
        artifactUpdate: { ...artifactUpdate, artifact: withContent(artifactUpdate.artifact, 'parts') },
      };
    const state = objectOf(statusUpdate?.status).state;
    const isFinal = state !== 'TASK_STATE_SUBMITTED' && state !== 'TASK_STATE_WORKING';
    return { statusUpdate: { ...statusUpdate, status: legacyStatus(statusUpdate?.status), final: isFinal } };
  },
});

function objectOf(value: unknown): Json {
  return isJsonObject(value) ? value : {};
}

function currentMessage(message: Json): Json {
  const { content, ...rest } = message;
  return { ...rest, parts: Array.isArray(content) ? content.map((part) => currentPart(objectOf(part))) : [] };
}

function currentPart({ file, data, ...rest }: Json): Json {
  if (isJsonObject(data)) return { ...rest, data: data.data };
  if (!isJsonObject(file)) return rest;
  const { fileWithUri, fileWithBytes, mimeType = '', name = '' } = file;
  const place = fileWithUri === undefined ? { raw: fileWithBytes } : { url: fileWithUri };
  return { ...rest, ...place, mediaType: mimeType, filename: name };
}

function legacyPart(part: unknown): Json {
  const { text, data, raw, url, metadata, mediaType = '', filename = '' } = objectOf(part);
  const more = metadata === undefined ? {} : { metadata };
  if (text !== undefined) return { ...more, text };
  const place = url === undefined ? { fileWithBytes: raw } : { fileWithUri: url };
  if (raw === undefined && url === undefined)
    return { ...more, data: { data: isJsonObject(data) ? data : { value: data } } };
  return { ...more, file: { ...place, mimeType: mediaType, name: filename } };
}

/** Writes the parts of a message or an artifact under the name that they have in 0.3. */
function withContent(value: unknown, name: 'content' | 'parts'): Json {
  const { parts, ...rest } = objectOf(value);
  return { ...rest, [name]: Array.isArray(parts) ? parts.map(legacyPart) : [] };
}

function legacyStatus(status: unknown): Json {
  const { state, message, ...rest } = objectOf(status);
  return {
    ...rest,
    state: state === canceled ? legacyCanceled : state,
    ...(message !== undefined && { message: withContent(message, 'content') }),
  };
}

function legacyTask({ status, artifacts, history, ...rest }: Json): Json {
  return {
    ...rest,
    status: legacyStatus(status),
    ...(Array.isArray(artifacts) && { artifacts: artifacts.map((one) => withContent(one, 'parts')) }),
    ...(Array.isArray(history) && { history: history.map((one) => withContent(one, 'content')) }),
  };
}
