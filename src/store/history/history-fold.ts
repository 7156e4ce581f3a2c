import {
  EXEC_LIQUIDATION,
  FIRST_CUSTOMER_ACCOUNT,
  isCustomer,
  OPERATOR_ACT,
  type Side,
} from "../../core/base/enums.ts";
import { openInterestChange, openInterestChangeOfTransfer } from "../../core/market-data/open-interest.ts";
import { type PublicTrade, toPublicTrade, toPublicTransfer } from "../../core/market-data/public-trades.ts";
import {
  DeficitCovered,
  Deposited,
  type Event,
  FundingPaid,
  FundingSettled,
  OperatorActed,
  PositionTransferred,
  PriceUpdated,
  Traded,
  WithdrawalCompleted,
  WithdrawalRequested,
  WithdrawalSent,
} from "../../core/protocol/events.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import { blank, type MessageOf } from "../../core/protocol/message-schema.ts";
import type { Database } from "../database/database.ts";
import {
  DeficitRecord,
  HISTORY_INDEX_KEY,
  IndexRecord,
  OperatorActRecord,
  TradeRecord,
} from "../database/history-schema.ts";
import { type SeriesPosition, SeriesWriter } from "../database/series.ts";
import { noYield, WriteBatch } from "../database/write-batch.ts";
import { CandleFold } from "./candle-fold.ts";
import { EquityFold } from "./equity-fold.ts";
import { FundingFold } from "./funding-fold.ts";
import { InsuranceFold } from "./insurance-fold.ts";
import { OpenInterestFold } from "./open-interest-fold.ts";
import { OrderFold } from "./order-fold.ts";
import { PositionFold } from "./position-fold.ts";
import { TransferFold } from "./transfer-fold.ts";

// The largest chunks stay below 4 KB.
const TRADES_PER_CHUNK = 60;
const DEFICITS_PER_CHUNK = 60;
const ACTS_PER_CHUNK = 30;

/** Lists of operators' acts. Prices have their own: programs set so many that halts could not be found among them. */
export const STATUS_ACTS = -1;
export const PRICE_ACTS = -2;

/**
 * Folds the log's events into the history index. Call transaction() and then apply() for each of its events, in the order
 * of the log, and commit() from time to time.
 */
export class HistoryFold {
  private readonly database: Database;
  private readonly batch: WriteBatch;
  private readonly candles: CandleFold;
  private readonly orders: OrderFold;
  private readonly trades: SeriesWriter<TradeRecord>;
  private readonly liquidations: SeriesWriter<TradeRecord>;
  private readonly deficits: SeriesWriter<DeficitRecord>;
  private readonly operatorActs: SeriesWriter<OperatorActRecord>;
  private readonly transfers: TransferFold;
  private readonly funding: FundingFold;
  private readonly insurance: InsuranceFold;
  private readonly openInterest: OpenInterestFold;
  private readonly positions: PositionFold;
  private readonly equity: EquityFold;
  /** As of the last commit. */
  private readonly index: IndexRecord;
  // Of the transaction under way.
  private readonly position: SeriesPosition;
  private time = 0;
  private actorId = 0;

  constructor(database: Database, instruments: readonly Instrument[], yieldNow = noYield) {
    this.database = database;
    this.batch = new WriteBatch(yieldNow);
    this.candles = new CandleFold(database.candles);
    this.trades = new SeriesWriter(database.trades, TRADES_PER_CHUNK);
    this.liquidations = new SeriesWriter(database.liquidations, TRADES_PER_CHUNK);
    this.deficits = new SeriesWriter(database.deficits, DEFICITS_PER_CHUNK);
    this.operatorActs = new SeriesWriter(database.operatorActs, ACTS_PER_CHUNK);
    this.transfers = new TransferFold(database);
    this.funding = new FundingFold(database);
    this.insurance = new InsuranceFold(database);
    this.openInterest = new OpenInterestFold(database);
    database.refresh();
    this.index = readIndex(database);
    this.position = { clock: this.index.clock, sequence: this.index.sequence };
    const instrumentById = new Map(instruments.map((instrument) => [instrument.id, instrument]));
    this.orders = new OrderFold(database, this.batch, instrumentById, this.position, this.index);
    this.positions = new PositionFold(database, instrumentById, this.index);
    this.equity = new EquityFold(database, instrumentById, this.index);
  }

  /** The last sequence whose events are in the index, on disk. */
  get indexedSequence(): number {
    return this.index.sequence;
  }

  /** The latest time in the index, in ms. */
  get clock(): number {
    return this.index.clock;
  }

  /** The events that follow are of this transaction. */
  transaction(sequence: number, timeMs: number, actorId: number): void {
    this.endTransaction();
    this.position.sequence = sequence;
    this.position.clock = Math.max(this.position.clock, timeMs);
    this.time = timeMs;
    this.orders.time = timeMs;
    this.actorId = actorId;
  }

  /** Keeps no reference to the event. */
  apply(event: Event): void {
    this.insurance.apply(event);
    this.orders.apply(event);
    this.positions.apply(this.batch, event, this.actorId, this.position, this.time);
    this.equity.apply(this.batch, event, this.actorId, this.time);
    switch (event.type) {
      case Traded.code:
        this.traded(event);
        break;
      case PriceUpdated.code:
        this.candles.price("MARK", this.actorId, this.time, event.markTicks);
        this.candles.price("INDEX", this.actorId, this.time, event.indexTicks);
        this.candles.price("PREMIUM", this.actorId, this.time, event.premiumPpb);
        this.openInterest.price(this.actorId, this.time, event);
        break;
      case PositionTransferred.code:
        this.transferred(event);
        break;
      case FundingSettled.code:
        this.funding.settled(this.batch, this.actorId, event);
        break;
      case FundingPaid.code:
        this.funding.paid(this.batch, this.actorId, event, this.position, this.time);
        break;
      case DeficitCovered.code:
        if (isCustomer(event.accountId)) this.covered(event);
        break;
      case OperatorActed.code:
        this.acted(event);
        break;
      case Deposited.code:
      case WithdrawalRequested.code:
      case WithdrawalSent.code:
      case WithdrawalCompleted.code:
        this.transfers.apply(this.batch, event, this.position, this.time);
        break;
    }
  }

  /** Writes everything through the last transaction at once. It is on disk when this returns. Throws DatabaseWriteError. */
  commit(): void {
    const { database, batch } = this;
    this.endTransaction();
    this.orders.flush();
    this.trades.flush(batch);
    this.liquidations.flush(batch);
    this.deficits.flush(batch);
    this.operatorActs.flush(batch);
    this.transfers.flush(batch);
    this.funding.flush(batch);
    this.insurance.flush(batch);
    this.candles.flush(batch);
    this.openInterest.flush(batch);
    this.positions.flush(batch);
    this.equity.flush(batch);
    this.index.sequence = this.position.sequence;
    this.index.clock = this.position.clock;
    batch.put(database.index, HISTORY_INDEX_KEY, this.index);
    database.commit(batch);
    this.orders.trimCache();
    this.positions.trimCache();
    this.equity.trimCache();
  }

  private endTransaction(): void {
    this.orders.endTransaction();
    this.insurance.endTransaction(this.batch, this.actorId, this.position, this.time);
  }

  private traded(event: MessageOf<typeof Traded>): void {
    const { position, time } = this;
    const { priceTicks, quantityLots } = event;
    const instrument = this.orders.instrumentOf(event.tradeId);
    const quanta = priceTicks * quantityLots * instrument.quantaPerTickLot;
    const trade = toRecord(toPublicTrade(event, time, position.sequence));
    this.trades.append(this.batch, instrument.id, position, trade);
    if (event.execType === EXEC_LIQUIDATION) this.liquidations.append(this.batch, instrument.id, position, trade);
    this.candles.trade(instrument.id, time, priceTicks, quantityLots, quanta, event.takerSide as Side);
    this.openInterest.change(instrument.id, time, openInterestChange(event));
  }

  private transferred(event: MessageOf<typeof PositionTransferred>): void {
    const { position, time } = this;
    const liquidation = toRecord(toPublicTransfer(event, time, position.sequence));
    this.liquidations.append(this.batch, this.actorId, position, liquidation);
    this.openInterest.change(this.actorId, time, openInterestChangeOfTransfer(event));
  }

  private covered({ accountId, amountQuanta }: MessageOf<typeof DeficitCovered>): void {
    const { position, time, actorId } = this;
    const deficit = { instrumentId: actorId, amountQuanta, time, sequence: position.sequence };
    this.deficits.append(this.batch, accountId, position, { type: DeficitRecord.code, ...deficit });
  }

  private acted({ operator, act, value }: MessageOf<typeof OperatorActed>): void {
    const { position, time, actorId } = this;
    const record = { instrumentId: actorId, act, value, time, sequence: position.sequence, operator };
    const list = act === OPERATOR_ACT.INDEX_PRICE ? PRICE_ACTS : STATUS_ACTS;
    this.operatorActs.append(this.batch, list, position, { type: OperatorActRecord.code, ...record });
  }
}

/** How far the index has come; its beginning where there is none. */
export const readIndex = (database: Database): IndexRecord => database.index.get(HISTORY_INDEX_KEY) ?? newIndex();

const newIndex = (): IndexRecord => ({
  ...blank(IndexRecord),
  firstTrackedAccount: FIRST_CUSTOMER_ACCOUNT,
  firstEquityAccount: FIRST_CUSTOMER_ACCOUNT,
});

const toRecord = (trade: PublicTrade): TradeRecord => ({ type: TradeRecord.code, ...trade });
