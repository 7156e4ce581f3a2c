import type { Static, TObject, TSchema } from "../../packages/typebox.ts";
import { BadCursorError, type Page } from "../../store/database/pages.ts";
import { DEFAULT_LIMIT } from "../../wire/schema/scalars.ts";
import { ApiError, badCombination } from "../common/errors.ts";
import { TimeSlicer } from "../common/time-slicer.ts";
import type { Principal } from "../exchange/credentials.ts";
import { historyCaughtUp } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import type { Call } from "../http/call.ts";
import { listBytes, listJson } from "../json/json-writers.ts";
import type { Context } from "./context.ts";
import { get, type Route, type RouteSpec } from "./route.ts";

/** A read takes up to a millisecond, and longer if a filter drops nearly all of the rows. */
const PAGES_PER_ITERATION = 1;
/** A page of 1000 rows takes up to 10 ms. So it is read in parts, between which other requests run. */
const ROWS_PER_READ = 100;
/** Requests that were answered meanwhile cost only the end of their promise. */
const ABANDONED_PER_ITERATION = 64;
/** Later requests would get their answer after their deadline. */
export const MAX_WAITING_READS = 10_000;

interface WaitingRead {
  /** Null: somebody waits in any case. */
  readonly answer: Pick<Answer, "done"> | null;
  readonly resume: () => void;
}

const reads = new TimeSlicer<WaitingRead>(PAGES_PER_ITERATION, ({ answer, resume }) => {
  if (answer?.done) reads.spend(PAGES_PER_ITERATION / ABANDONED_PER_ITERATION - 1);
  resume();
});

/** Resolves when this event-loop iteration has room for a read, so that many readers do not block other requests. */
export const waitForReadSlot = (answer: Pick<Answer, "done"> | null = null): Promise<void> =>
  new Promise((resume) => {
    reads.add({ answer, resume });
    reads.run();
  });

/**
 * The same, for a request. Rejects with TIMEOUT when the request was answered meanwhile, since nobody needs the page, and with
 * OVERLOADED when too many wait.
 */
export async function waitForReadSlotOf(answer: Pick<Answer, "done">): Promise<void> {
  if (reads.size >= MAX_WAITING_READS) throw new ApiError("OVERLOADED");
  await waitForReadSlot(answer);
  if (answer.done) throw new ApiError("TIMEOUT");
}

interface ListQuery {
  symbol?: string;
  limit?: number;
  cursor?: string;
  startTime?: number;
  endTime?: number;
}

/** A list's query as the history takes it. */
type HistoryQuery<Query extends ListQuery> = Query & {
  instrumentId: Query extends { symbol: string } ? number : number | undefined;
  limit: number;
};

/**
 * Reads a page of the history, after the history holds everything that was answered so far: a client finds there what it
 * was told before. Rejects with UNKNOWN_SYMBOL, BAD_COMBINATION (startTime after endTime), BAD_VALUE (cursor) or TIMEOUT.
 */
export async function readPage<Query extends ListQuery, Row>(
  context: Context,
  answer: Pick<Answer, "done">,
  query: Query,
  read: (query: HistoryQuery<Query>) => Page<Row>,
): Promise<Page<Row>> {
  const data: Row[] = [];
  const nextCursor = await readParts(context, answer, query, read, (rows) => data.push(...rows));
  return { data, nextCursor };
}

/**
 * Answers with a page that `read` prints as JSON. Rejects as readPage() does. Each part is kept as bytes: thousands of short
 * texts that wait for the last part would outlive garbage collections, each of which would then take several milliseconds.
 */
export async function replyWithPage<Query extends ListQuery>(
  context: Context,
  call: Call,
  query: Query,
  read: (query: HistoryQuery<Query>) => Page<string>,
): Promise<void> {
  const parts: Uint8Array[] = [];
  const nextCursor = await readParts(context, call, query, read, (rows) => {
    if (rows.length > 0) parts.push(Buffer.from(rows.join(",")));
  });
  call.reply(200, listBytes(parts, nextCursor));
}

/** Passes a long page to `take` in parts, as a client would read several short ones. Resolves with the next page's cursor. */
async function readParts<Query extends ListQuery, Row>(
  { engine, symbols }: Context,
  answer: Pick<Answer, "done">,
  query: Query,
  read: (query: HistoryQuery<Query>) => Page<Row>,
  take: (rows: readonly Row[]) => void,
): Promise<string | null> {
  const instrumentId = query.symbol === undefined ? undefined : symbols.bySymbol(query.symbol).id;
  checkTimeRange(query);
  await historyCaughtUp(engine);
  let { cursor } = query;
  for (let missing = query.limit ?? DEFAULT_LIMIT; ; ) {
    await waitForReadSlotOf(answer);
    const limit = Math.min(missing, ROWS_PER_READ);
    const { data, nextCursor } = withCursorError(() =>
      read({ ...query, instrumentId, limit, cursor } as HistoryQuery<Query>),
    );
    take(data);
    missing -= data.length;
    // A read that ends early has looked at as many rows as a page may.
    if (nextCursor === null || data.length < limit || missing === 0) return nextCursor;
    cursor = nextCursor;
  }
}

function withCursorError<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw thrown instanceof BadCursorError ? badCursor() : thrown;
  }
}

interface ListSpec<Q extends TObject, Row> extends Pick<RouteSpec<Q, TObject>, "access" | "summary" | "errors"> {
  readonly query: Q;
  readonly reply: TSchema;
  read(query: HistoryQuery<Static<Q>>, principal: Principal): Page<Row>;
  /** A row as JSON. */
  print(row: Row, query: Static<Q>): string;
}

/** A GET route that answers with one page of the history and the cursor of the next one. */
export const listRoute = <Q extends TObject, Row>(
  context: Context,
  path: string,
  { reply, read, print, ...spec }: ListSpec<Q, Row>,
): Route =>
  get<Q>(path, {
    ...spec,
    replies: { 200: reply },
    async handle({ call, principal, query }) {
      // Printed as it is read: printing takes as long.
      await replyWithPage(context, call, query, (historyQuery) =>
        printPage(read(historyQuery, principal), (row) => print(row, query)),
      );
    },
  });

export const printPage = <Row>({ data, nextCursor }: Page<Row>, print: (row: Row) => string): Page<string> => ({
  data: data.map((row) => print(row)),
  nextCursor,
});

/** Answers with rows that are printed as JSON. */
export const replyPage = (answer: Answer, { data, nextCursor }: Page<string>): void =>
  answer.reply(200, listJson(data, nextCursor));

export function checkTimeRange({ startTime, endTime }: ListQuery): void {
  if (startTime !== undefined && endTime !== undefined && startTime > endTime)
    throw badCombination("startTime", "startTime is after endTime. Send a startTime that is not after endTime.");
}

export const badCursor = (): ApiError =>
  new ApiError("BAD_VALUE", {
    field: "cursor",
    message: "The cursor does not belong to this list. Send a nextCursor that this list has returned.",
  });
