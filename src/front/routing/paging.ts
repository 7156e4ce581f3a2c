import { BadCursorError, type Page } from "../../store/database/pages.ts";
import { DEFAULT_LIMIT } from "../../wire/schema/scalars.ts";
import { ApiError, badCombination } from "../common/errors.ts";
import { TimeSlicer } from "../common/time-slicer.ts";
import { historyCaughtUp } from "../exchange/request.ts";
import type { Answer } from "../http/answer.ts";
import type { Context } from "./context.ts";

/** A page takes some milliseconds: if its filter leaves nearly everything out, thousands of rows are looked at. */
const PAGES_PER_ITERATION = 1;
const reads = new TimeSlicer<() => void>(PAGES_PER_ITERATION, (goOn) => goOn());

/** However many ask at once, nobody else waits for all. */
export const waitForReadSlot = (): Promise<void> =>
  new Promise((resolve) => {
    reads.add(resolve);
    reads.run();
  });

/** The same, for a request. Rejects when nobody waits for its answer any more: those who do would wait for what it reads. */
export async function waitForReadSlotOf(answer: Pick<Answer, "done">): Promise<void> {
  await waitForReadSlot();
  if (answer.done) throw new ApiError("TIMEOUT");
}

interface ListQuery {
  symbol?: string;
  limit?: number;
  startTime?: number;
  endTime?: number;
}

/** A list's query as the history takes it. */
type HistoryQuery<Query> = Query & { instrumentId: number | undefined; limit: number };

/**
 * Reads a page of the history once it has taken in everything that was answered so far: a client finds there what it was
 * told. `read` gets the query with the id of the instrument that it names and with a limit.
 */
export async function readPage<Query extends ListQuery, Row>(
  { engine, symbols }: Context,
  answer: Pick<Answer, "done">,
  query: Query,
  read: (query: HistoryQuery<Query>) => Page<Row>,
): Promise<Page<Row>> {
  const instrumentId = query.symbol === undefined ? undefined : symbols.bySymbol(query.symbol).id;
  checkTimeRange(query);
  await historyCaughtUp(engine);
  await waitForReadSlotOf(answer);
  try {
    return read({ ...query, instrumentId, limit: query.limit ?? DEFAULT_LIMIT });
  } catch (thrown) {
    throw thrown instanceof BadCursorError ? badCursor() : thrown;
  }
}

export function checkTimeRange({ startTime, endTime }: ListQuery): void {
  if (startTime !== undefined && endTime !== undefined && startTime > endTime)
    throw badCombination("startTime", "startTime lies after endTime.");
}

export const badCursor = (): ApiError =>
  new ApiError("BAD_VALUE", { field: "cursor", message: "The cursor is not one of this list." });
