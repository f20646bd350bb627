/** The index of the words of bodies that are kept. */
export const keptWordsSchema = `CREATE VIRTUAL TABLE kept_words USING fts5(
    words, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2'
  );`;

/**
 * Metadata comes before `body`, so that reading it never touches the overflow pages of a large one.
 */
export const inboxSchema = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;

  -- Each with a record of its own; inbox and size are there to look for.
  CREATE TABLE dead_letter (
    seq INTEGER PRIMARY KEY, inbox TEXT NOT NULL, sender TEXT NOT NULL, is_counted INTEGER NOT NULL, size INTEGER NOT NULL,
    dead_at INTEGER NOT NULL,
    entries TEXT NOT NULL, bodies BLOB NOT NULL
  );

  -- Messages that are not due, by their time, each with a record of its own; and where each id is. An id whose message is not there any
  -- more is forgotten later.
  CREATE TABLE scheduled (
    due INTEGER NOT NULL, number INTEGER NOT NULL, sent_at INTEGER NOT NULL, inbox TEXT NOT NULL, sender TEXT NOT NULL,
    is_counted INTEGER NOT NULL, size INTEGER NOT NULL, checksum INTEGER NOT NULL, entries TEXT NOT NULL, bodies BLOB NOT NULL,
    PRIMARY KEY (due, number)
  ) WITHOUT ROWID;
  CREATE TABLE scheduled_id (
    sender TEXT NOT NULL, inbox TEXT NOT NULL, id TEXT NOT NULL, due INTEGER NOT NULL, number INTEGER NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (sender, inbox, id)
  ) WITHOUT ROWID;

  CREATE TABLE journal (
    inbox TEXT PRIMARY KEY, generation TEXT NOT NULL, foreign_up_to INTEGER NOT NULL, epoch TEXT NOT NULL, checksum INTEGER NOT NULL
  ) WITHOUT ROWID;

  -- The record of each commit whose messages are in the memtable: see log-structured/. A record with bodies that are to be kept stays until
  -- these are in kept_body, of which "kept" has the bytes.
  CREATE TABLE commit_log (number INTEGER PRIMARY KEY, kept INTEGER NOT NULL, entries TEXT NOT NULL, bodies BLOB NOT NULL);

  -- Bodies that are kept, with the threads of their messages. Their words can be found again from the bodies.
  CREATE TABLE kept_body (
    seq INTEGER PRIMARY KEY, thread TEXT NOT NULL, sender TEXT NOT NULL, recipient TEXT NOT NULL, created_at INTEGER NOT NULL,
    size INTEGER NOT NULL, inbox TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, correlation_id TEXT, checksum INTEGER NOT NULL, body TEXT NOT NULL
  );
  CREATE INDEX kept_body_by_thread ON kept_body (thread, seq);
  CREATE INDEX kept_body_by_sender ON kept_body (sender, seq);
  CREATE INDEX kept_body_by_recipient ON kept_body (recipient, seq);
  ${keptWordsSchema}

  -- The rows of "segment" are all read at the start, so its messages are in a table of their own.
  CREATE TABLE segment (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, messages INTEGER NOT NULL, pending INTEGER NOT NULL, until INTEGER NOT NULL,
    open_until INTEGER NOT NULL, fill REAL NOT NULL, bytes INTEGER NOT NULL, ids TEXT NOT NULL, token_ids TEXT NOT NULL,
    checksum INTEGER NOT NULL
  );
  CREATE TABLE segment_content (number INTEGER PRIMARY KEY, hashes BLOB NOT NULL, entries TEXT NOT NULL, bodies BLOB NOT NULL);

  -- Requests that can or could be answered, and whose segment tells it no more: see log-structured/open-requests.ts.
  CREATE TABLE open_request (
    seq INTEGER PRIMARY KEY, requester TEXT NOT NULL, id TEXT NOT NULL, inbox TEXT NOT NULL, open_until INTEGER NOT NULL,
    is_over INTEGER NOT NULL, takers TEXT NOT NULL, thread TEXT NOT NULL, checksum INTEGER NOT NULL
  );
  CREATE INDEX open_request_by_id ON open_request (requester, id, inbox);
  CREATE INDEX open_request_by_time ON open_request (open_until);

  -- What is pending in segments: the sequence numbers of each inbox, and how much there is of each sender.
  CREATE TABLE pending_range (
    inbox TEXT NOT NULL, last INTEGER NOT NULL, first INTEGER NOT NULL, segment INTEGER NOT NULL, messages INTEGER NOT NULL,
    checksum INTEGER NOT NULL, PRIMARY KEY (inbox, last)
  ) WITHOUT ROWID;
  CREATE TABLE pending_count (
    inbox TEXT NOT NULL, sender TEXT NOT NULL, is_counted INTEGER NOT NULL, pending INTEGER NOT NULL, bytes INTEGER NOT NULL,
    checksum INTEGER NOT NULL, PRIMARY KEY (inbox, sender, is_counted)
  ) WITHOUT ROWID;
`;
