import { proportion } from "../base/units.ts";

/**
 * Account cells: what every actor knows of an account's margin, in one SharedArrayBuffer, so a symbol checks cross margin
 * in its own turn without asking anyone. Derived: rebuilt at start from the actors' states.
 *
 * Each actor thread has a lane: the sums of what its own actors contribute. Nobody else writes to it, so it adds in plain
 * numbers, which costs a tenth of an atomic operation, and what all contribute is the sum of the lanes. They are aligned
 * doubles, which 64-bit machines read and write whole.
 *
 * Who must not spend what another may be spending adds first, passes the account's gate, and reads then. Threads pass a
 * gate one after the other, so the later one sees what the earlier one has added. So it is wherever one of two steps must
 * be known before the other: the gate lies between them for who writes, and for who reads. Else a processor that keeps no
 * order of its own (ARM64) may show the second one first.
 *
 * In the middle of a turn cells show less than the account has: what burdens it is there, what helps it waits for the end.
 * To refuse is all that may follow from that. Who does something to an account because it has so little looks at it as it is
 * between turns: see observe().
 */
const COLUMNS_PER_STRIPE = 8; // one cache line
const EQUITY = 0;
const UNREALIZED = 1;
const INITIAL = 2;
const POSITION_INITIAL = 3;
const MAINTENANCE = 4;
/** How many turns have begun to change the lane's share of the account, and how many of them are over. */
const BEGIN_VERSION = 5;
const END_VERSION = 6;
/** 1 while a turn may be making positions of what the account's orders have reserved: see engage(). */
const FILLING = 7;

/** One actor's share of an account, in quanta. */
export interface Contribution {
  /** Ledger balance, or a position's cash + size × mark. */
  equity: number;
  unrealized: number;
  /** Initial margin, that of open orders included. */
  initial: number;
  /** The position's part of it: what changes with trades and prices, and not with every order. */
  positionInitial: number;
  maintenance: number;
}

/** How many numbers an actor keeps per account to remember what it has contributed: see move(). */
export const CONTRIBUTION_FIELDS = 5;

/** The lane of one who only reads. */
export const NO_STRIPE = -1;

/** A look is in vain when a turn begins or ends in the middle of it, as one in some hundred does at worst. */
const MAX_READ_ATTEMPTS = 1000;

export class MarginTable {
  /** For each account its lanes, one behind the other. */
  private values: Float64Array<SharedArrayBuffer>;
  /**
   * What each cell was before the turn that is under way. Only where there are several lanes: with one nobody does anything
   * for what another thread is in the middle of.
   */
  private valuesBefore: Float64Array<SharedArrayBuffer>;
  /** A word for each account, behind the cells: 1 while somebody covers its deficit. */
  private fences: Int32Array<SharedArrayBuffer>;
  private readonly stripe: number;
  protected readonly stripeCount: number;
  /** Changes in an account's favour wait here until the turn that caused them has its place in the log. */
  private readonly deferredIndexes: number[] = [];
  private readonly deferredDeltas: number[] = [];
  private deferredCount = 0;
  /** The first so many of them count for their accounts already, with so much for each cell: see countFavours(). */
  private usableDeferredCount = 0;
  private readonly usableDeferred = new Map<number, number>();
  private committedCount = 0;
  /** What the turn that is under way has added already: see abandon(). */
  private isTransactionOpen = false;
  private readonly appliedIndexes: number[] = [];
  private readonly appliedDeltas: number[] = [];
  private appliedCount = 0;
  /** Where the lanes begin of the accounts that it changes. */
  private readonly openStripes: number[] = [];
  private openCount = 0;
  /** What the other lanes came to when they were last observed, by cell. */
  private readonly others = new Float64Array(CONTRIBUTION_FIELDS);
  private readonly sums: Contribution = { equity: 0, unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 };
  protected readonly maxReadAttempts: number = MAX_READ_ATTEMPTS;

  /** `lane`: the one that this thread's actors add to, or NO_LANE. */
  constructor(buffer: SharedArrayBuffer, laneCount = 1, lane = 0) {
    this.stripeCount = laneCount;
    this.stripe = lane;
    this.values = valuesIn(buffer, laneCount);
    this.valuesBefore = beforeIn(buffer, laneCount);
    this.fences = fencesIn(buffer, laneCount);
  }

  static allocate(maxAccounts: number, laneCount = 1, lane = 0): MarginTable {
    return new MarginTable(new SharedArrayBuffer(maxAccounts * bytesPerAccount(laneCount)), laneCount, lane);
  }

  get buffer(): SharedArrayBuffer {
    return this.values.buffer;
  }

  /** From now on these are the cells in `buffer`: for one who has worked on others until it was counted. */
  attach(buffer: SharedArrayBuffer): void {
    this.values = valuesIn(buffer, this.stripeCount);
    this.valuesBefore = beforeIn(buffer, this.stripeCount);
    this.fences = fencesIn(buffer, this.stripeCount);
  }

  get maxAccounts(): number {
    return this.fences.length;
  }

  equity(accountId: number): number {
    return this.read(accountId, EQUITY);
  }
  unrealized(accountId: number): number {
    return this.read(accountId, UNREALIZED);
  }
  initial(accountId: number): number {
    return this.read(accountId, INITIAL);
  }
  positionInitial(accountId: number): number {
    return this.read(accountId, POSITION_INITIAL);
  }
  maintenance(accountId: number): number {
    return this.read(accountId, MAINTENANCE);
  }

  /**
   * Whether the account has less than its initial margin, be it for the time of another thread's turn: that may be losing
   * what orders here stand on.
   */
  isShort(accountId: number): boolean {
    return this.available(accountId) < 0;
  }

  /**
   * Looks at what the other lanes come to, as of one moment, between the turns of their threads: before those that are
   * under way. Returns whether none was: else they may be spending it, or adding to it.
   */
  readConsistent(accountId: number): boolean {
    for (let looks = 0; looks < this.maxReadAttempts; looks++) {
      const changes = this.versionOfOthers(accountId);
      for (let cell = 0; cell < CONTRIBUTION_FIELDS; cell++) this.others[cell] = this.readOtherStripes(accountId, cell);
      // Each turn is a change when it begins and one when it is over.
      if (this.versionOfOthers(accountId) === changes) return changes >= 0;
    }
    return false;
  }

  /**
   * What all come to: the other lanes as they were observed, this thread's as this turn may take it for. Filled in again by
   * the next call.
   */
  consistent(accountId: number): Readonly<Contribution> {
    const { sums } = this;
    sums.equity = this.consistentColumn(accountId, EQUITY);
    sums.unrealized = this.consistentColumn(accountId, UNREALIZED);
    sums.initial = this.consistentColumn(accountId, INITIAL);
    sums.positionInitial = this.consistentColumn(accountId, POSITION_INITIAL);
    sums.maintenance = this.consistentColumn(accountId, MAINTENANCE);
    return sums;
  }

  /** What this turn may take the equity for, without what other threads may be spending. */
  usableEquity(accountId: number): number {
    return this.usable(accountId, EQUITY);
  }
  /** What has been observed of the equity, less what another thread has spent since in the middle of its turn. */
  remainingEquity(accountId: number): number {
    return Math.min(this.consistentColumn(accountId, EQUITY), this.usableEquity(accountId));
  }
  /** What this turn may take the initial margin for. */
  usableInitial(accountId: number): number {
    return this.usable(accountId, INITIAL);
  }
  /** What this turn may take the maintenance margin for. */
  usableMaintenance(accountId: number): number {
    return this.usable(accountId, MAINTENANCE);
  }

  /** What new risk may use: equity − initial. */
  available(accountId: number): number {
    return this.usable(accountId, EQUITY) - this.usable(accountId, INITIAL);
  }

  /** See withdrawableOf(). */
  withdrawable(accountId: number): number {
    return withdrawableOf(
      this.usable(accountId, EQUITY),
      this.usable(accountId, UNREALIZED),
      this.usable(accountId, INITIAL),
    );
  }

  /**
   * Takes `amount` of initial margin if equity covers it, else takes it back and answers false. Two actors that race can
   * both be refused; they can never both spend the same money. What was taken is added to `given` (see move()). Below zero
   * it is what the account will need less than now: that comes free with move().
   */
  reserve(accountId: number, amount: number, given: Float64Array, givenAt: number): boolean {
    const at = this.stripeOffset(accountId);
    const taken = Math.max(0, amount);
    // Also where nothing more is taken: what is there already is about to become a position.
    this.beginFilling(accountId);
    this.applyNow(at + INITIAL, taken);
    const initial = this.readFenced(accountId, INITIAL) + Math.min(0, amount);
    const equity = this.readFenced(accountId, EQUITY);
    if (equity < initial && equity + (this.deferredOf(at + EQUITY) - this.deferredOf(at + INITIAL)) < initial) {
      this.applyNow(at + INITIAL, -taken);
      return false;
    }
    given[givenAt + INITIAL] = given[givenAt + INITIAL] + taken;
    return true;
  }

  /**
   * Takes `amount` of equity if there is as much beside what other threads need, else takes it back and answers false: what
   * fills are about to lose is not withdrawn while they are made. What was taken is added to `given` (see move()).
   */
  spend(accountId: number, amount: number, given: Float64Array, givenAt: number): boolean {
    return this.take(accountId, amount, given, givenAt, this.stripeCount > 1);
  }

  /** As spend(), to the last of it: for the insurance fund, which needs no margin for what it holds. */
  pay(accountId: number, amount: number, given: Float64Array, givenAt: number): boolean {
    return this.take(accountId, amount, given, givenAt, false);
  }

  private take(
    accountId: number,
    amount: number,
    given: Float64Array,
    givenAt: number,
    leavesWhatOthersNeed: boolean,
  ): boolean {
    const at = this.stripeOffset(accountId) + EQUITY;
    this.applyNow(at, -amount);
    const equity = this.usableFenced(accountId, EQUITY);
    if (equity < 0 || (leavesWhatOthersNeed && equity < this.requiredByOthers(accountId, equity + amount))) {
      this.applyNow(at, amount);
      return false;
    }
    given[givenAt + EQUITY] = given[givenAt + EQUITY] - amount;
    return true;
  }

  /**
   * A fill of this turn is about to change the account, whose cells follow at the turn's end: until then others leave what
   * its orders here have reserved.
   */
  beginFilling(accountId: number): void {
    if (this.stripeCount === 1 || !this.isTransactionOpen) return;
    const at = this.stripeOffset(accountId);
    this.openStripe(at);
    if (this.load(at + FILLING) === 0) this.addTo(at + FILLING, 1);
    // Whoever has spent before it is seen by what is read from here on.
    this.fence(accountId);
  }

  /**
   * What of so much equity stands for what the other threads have: the share of their positions, by maintenance margin and
   * no more than that; and what orders have reserved there, as long as a turn may be making positions of them. A turn that
   * only brings positions to a new mark stands in no close's way.
   */
  private requiredByOthers(accountId: number, equity: number): number {
    let reserved = 0;
    let maintenance = 0;
    for (let lane = 0; lane < this.stripeCount; lane++) {
      if (lane === this.stripe) continue;
      const at = (accountId * this.stripeCount + lane) * COLUMNS_PER_STRIPE;
      if (this.load(at + FILLING) !== 0)
        reserved += Math.max(0, this.load(at + INITIAL) - this.load(at + POSITION_INITIAL));
      // What is no longer reserved is a position by now.
      this.fence(accountId);
      maintenance += this.load(at + MAINTENANCE);
    }
    const all = this.usableMaintenance(accountId);
    return reserved + (equity >= all ? maintenance : equity - proportion(equity, all - maintenance, all));
  }

  /**
   * Debits equity if `amount` is withdrawable, else takes it back and answers false. The debit comes first and the
   * check after it, so a symbol that reserves at the same moment sees either the money or its absence.
   */
  debit(accountId: number, amount: number): boolean {
    const at = this.stripeOffset(accountId) + EQUITY;
    this.applyNow(at, -amount);
    const gainsBefore = this.readFenced(accountId, UNREALIZED);
    const initial = this.readFenced(accountId, INITIAL);
    const equity = this.readFenced(accountId, EQUITY);
    const gains = Math.max(0, gainsBefore, this.readFenced(accountId, UNREALIZED));
    if (equity >= initial && equity >= gains) return true;
    this.applyNow(at, amount);
    return false;
  }

  /**
   * Whether the account can bear that this actor's contribution becomes `to`: equity still covers initial margin, and
   * what leaves it is no unrealised gain. If so, what burdens it has been taken and added to `given`, and move() does the
   * rest; if not, nothing has changed. Taken first and checked after, like reserve() and debit().
   */
  reserveChange(accountId: number, to: Contribution, given: Float64Array, givenAt: number): boolean {
    const at = this.stripeOffset(accountId);
    const equityBy = to.equity - given[givenAt + EQUITY];
    const initialBy = to.initial - given[givenAt + INITIAL];
    const gainsBy = to.unrealized - given[givenAt + UNREALIZED];
    const taken = Math.min(0, equityBy);
    const added = Math.max(0, initialBy);
    const gained = Math.max(0, gainsBy);
    this.applyNow(at + EQUITY, taken);
    this.applyNow(at + INITIAL, added);
    this.applyNow(at + UNREALIZED, gained);
    const gainsBefore = this.usableFenced(accountId, UNREALIZED);
    const initial = this.usableFenced(accountId, INITIAL) + Math.min(0, initialBy);
    const equity = this.usableFenced(accountId, EQUITY) + Math.max(0, equityBy);
    const gains = Math.max(gainsBefore, this.usableFenced(accountId, UNREALIZED)) + Math.min(0, gainsBy);
    if (equity >= initial && (taken === 0 || equity >= gains)) {
      given[givenAt + EQUITY] = given[givenAt + EQUITY] + taken;
      given[givenAt + INITIAL] = given[givenAt + INITIAL] + added;
      given[givenAt + UNREALIZED] = given[givenAt + UNREALIZED] + gained;
      return true;
    }
    this.applyNow(at + UNREALIZED, -gained);
    this.applyNow(at + INITIAL, -added);
    this.applyNow(at + EQUITY, -taken);
    return false;
  }

  /**
   * Lifts an equity below zero to zero, and answers by how much; 0 when there was nothing to lift or another actor was
   * faster, or is in the middle of a turn: it may be lifting it. What was lifted is added to `given`. An account at zero
   * can take no risk, so nobody can build on it early.
   */
  coverDeficit(accountId: number, given: Float64Array, givenAt: number): number {
    if (Atomics.compareExchange(this.fences, accountId, 0, 1) !== 0) return 0;
    const lifted = this.readConsistent(accountId) ? Math.max(0, -this.consistentColumn(accountId, EQUITY)) : 0;
    this.applyNow(this.stripeOffset(accountId) + EQUITY, lifted);
    given[givenAt + EQUITY] = given[givenAt + EQUITY] + lifted;
    Atomics.store(this.fences, accountId, 0);
    return lifted;
  }

  /**
   * Brings what an actor has contributed (five numbers of `given` from `at`, in the order of the cells) to `to`.
   * What helps the account waits for flush(), unless what it follows from stands in the log already (`isLogged`).
   */
  setContribution(accountId: number, given: Float64Array, at: number, to: Contribution, isLogged = false): void {
    const cell = this.stripeOffset(accountId);
    const mayWait = !isLogged;
    const equity = to.equity - given[at + EQUITY];
    const unrealized = to.unrealized - given[at + UNREALIZED];
    const initial = to.initial - given[at + INITIAL];
    const positionInitial = to.positionInitial - given[at + POSITION_INITIAL];
    const maintenance = to.maintenance - given[at + MAINTENANCE];
    // A gain is known as one before it is there, and no longer as one once it has gone: see readBehind(). Less of an
    // unrealised gain is more to withdraw.
    if (unrealized > 0) this.applyNow(cell + UNREALIZED, unrealized);
    if (isLogged && unrealized > 0) this.fence(accountId);
    if (equity !== 0) this.deferCredit(cell + EQUITY, equity, mayWait && equity > 0);
    if (unrealized < 0) this.deferCredit(cell + UNREALIZED, unrealized, mayWait);
    if (isLogged && initial < 0) this.fence(accountId);
    if (initial !== 0) this.deferCredit(cell + INITIAL, initial, mayWait && initial < 0);
    // Or equity that waits for the ticket would stand beside margin that does not need it any more.
    if (maintenance !== 0) this.deferCredit(cell + MAINTENANCE, maintenance, mayWait && maintenance < 0);
    // What orders have reserved is a position's once its maintenance margin is there: see neededByOthers().
    if (positionInitial > 0) this.fence(accountId);
    this.applyNow(cell + POSITION_INITIAL, positionInitial);
    given[at + EQUITY] = to.equity;
    given[at + UNREALIZED] = to.unrealized;
    given[at + INITIAL] = to.initial;
    given[at + POSITION_INITIAL] = to.positionInitial;
    given[at + MAINTENANCE] = to.maintenance;
  }

  /** A turn begins. */
  begin(): void {
    this.isTransactionOpen = true;
    this.appliedCount = 0;
  }

  /**
   * The turn is over, and has its ticket if it has done anything: whoever uses what it did in accounts' favour comes after
   * it in the log.
   */
  commit(): void {
    this.isTransactionOpen = false;
    this.appliedCount = 0;
    if (this.committedCount < this.deferredCount) this.fenceOpenAccounts();
    for (; this.committedCount < this.deferredCount; this.committedCount++)
      this.addTo(this.deferredIndexes[this.committedCount], this.deferredDeltas[this.committedCount]);
    this.clearDeferred();
    this.committedCount = 0;
    this.closeStripes();
  }

  /**
   * What the turn has done in accounts' favour until now may be used by what it does from here on: both stand in one
   * record of the log, so a crash takes both or neither. Other actors see it with flush().
   */
  useDeferred(): void {
    for (; this.usableDeferredCount < this.deferredCount; this.usableDeferredCount++) {
      const cell = this.deferredIndexes[this.usableDeferredCount];
      this.usableDeferred.set(cell, this.deferredOf(cell) + this.deferredDeltas[this.usableDeferredCount]);
    }
  }

  /** What this turn may take the cell for. */
  private usable(accountId: number, cell: number): number {
    return this.read(accountId, cell) + this.deferredOf(this.stripeOffset(accountId) + cell);
  }

  private deferredOf(cell: number): number {
    return this.usableDeferredCount === 0 ? 0 : (this.usableDeferred.get(cell) ?? 0);
  }

  /**
   * The thread has thrown and does nothing more: the cells get to where its last turn has left them. A turn that had no
   * ticket has not been, so what it has added is taken back; one that had is in the log, and the rest of it follows.
   */
  rollback(): void {
    if (!this.isTransactionOpen) return this.commit();
    this.isTransactionOpen = false;
    while (this.appliedCount > 0) {
      const last = --this.appliedCount;
      this.addTo(this.appliedIndexes[last], -this.appliedDeltas[last]);
    }
    this.clearDeferred();
    this.closeStripes();
  }

  private clearDeferred(): void {
    this.deferredCount = 0;
    if (this.usableDeferredCount === 0) return;
    this.usableDeferredCount = 0;
    this.usableDeferred.clear();
  }

  /** Adds all that an actor has contributed to an account, five numbers of `given`: for counting anew. */
  addAll(accountId: number, given: Float64Array, at: number): void {
    const cell = this.stripeOffset(accountId);
    for (let field = 0; field < CONTRIBUTION_FIELDS; field++)
      if (given[at + field] !== 0) this.addTo(cell + field, given[at + field]);
  }

  clear(): void {
    this.values.fill(0);
  }

  /** Becomes a copy of `other`, while nobody works on either. Who died while covering a deficit covers it no more. */
  copyFrom(other: MarginTable): void {
    this.values.set(other.values);
    this.fences.fill(0);
  }

  /** Where this thread's lane of the account begins. */
  private stripeOffset(accountId: number): number {
    return (accountId * this.stripeCount + this.stripe) * COLUMNS_PER_STRIPE;
  }

  /** What all lanes of the account's cell come to. */
  protected read(accountId: number, cell: number): number {
    const { stripeCount } = this;
    const at = accountId * stripeCount * COLUMNS_PER_STRIPE + cell;
    let sum = this.load(at);
    for (let lane = 1; lane < stripeCount; lane++) sum += this.load(at + lane * COLUMNS_PER_STRIPE);
    return sum;
  }

  /**
   * The same behind the account's gate. In this order: unrealised gains, initial margin, equity, and the gains once more.
   * Margin comes free behind the loss that it comes with, equity grows behind the gain that has not been realised, and such
   * a gain goes behind the equity that goes with it.
   */
  private readFenced(accountId: number, cell: number): number {
    this.fence(accountId);
    return this.read(accountId, cell);
  }

  /** The same, as this turn may take it. */
  private usableFenced(accountId: number, cell: number): number {
    return this.readFenced(accountId, cell) + this.deferredOf(this.stripeOffset(accountId) + cell);
  }

  /** Alone there is nobody to be ahead of or behind. */
  protected fence(accountId: number): void {
    if (this.stripeCount > 1) Atomics.add(this.fences, accountId, 0);
  }

  /** Those of all accounts that the turn changes. */
  private fenceOpenAccounts(): void {
    if (this.stripeCount === 1) return;
    for (let i = 0; i < this.openCount; i++) this.fence(this.accountAt(this.openStripes[i]));
  }

  private accountAt(lane: number): number {
    return Math.floor(lane / (this.stripeCount * COLUMNS_PER_STRIPE));
  }

  private deferCredit(cell: number, delta: number, waits: boolean): void {
    if (!waits) return this.applyNow(cell, delta);
    if (this.isTransactionOpen) this.openStripe(cell);
    this.deferredIndexes[this.deferredCount] = cell;
    this.deferredDeltas[this.deferredCount++] = delta;
  }

  /** Adds at once, so that abandon() can take it back. */
  private applyNow(cell: number, delta: number): void {
    if (delta === 0) return;
    if (this.isTransactionOpen) this.openStripe(cell);
    this.addTo(cell, delta);
    if (!this.isTransactionOpen) return;
    this.appliedIndexes[this.appliedCount] = cell;
    this.appliedDeltas[this.appliedCount++] = delta;
  }

  /** The turn changes the account that one of its lane's cells is of: whoever observes it sees what it was before. */
  private openStripe(cell: number): void {
    const at = cell & -COLUMNS_PER_STRIPE;
    const { openStripes, openCount } = this;
    if (
      openCount > 0 &&
      (openStripes[openCount - 1] === at || this.load(at + BEGIN_VERSION) !== this.load(at + END_VERSION))
    )
      return;
    if (this.stripeCount === 1) this.addTo(at + BEGIN_VERSION, 1);
    else this.publishBegin(at);
    this.openStripes[this.openCount++] = at;
  }

  /**
   * The last turn is seen to be over before what it has left is kept; that is there when this one is seen to have begun; and
   * that is seen before what it changes.
   */
  private publishBegin(at: number): void {
    const accountId = this.accountAt(at);
    this.fence(accountId);
    this.saveBefore(at);
    this.fence(accountId);
    this.addTo(at + BEGIN_VERSION, 1);
    this.fence(accountId);
  }

  protected saveBefore(at: number): void {
    const { valuesBefore, values } = this;
    for (let cell = at; cell < at + CONTRIBUTION_FIELDS; cell++) valuesBefore[cell] = values[cell];
  }

  private closeStripes(): void {
    // All that the turn has changed is there when it is seen to be over.
    this.fenceOpenAccounts();
    while (this.openCount > 0) {
      const at = this.openStripes[--this.openCount];
      if (this.load(at + FILLING) !== 0) this.addTo(at + FILLING, -1);
      this.addTo(at + END_VERSION, 1);
    }
  }

  protected consistentColumn(accountId: number, cell: number): number {
    if (this.stripe === NO_STRIPE) return this.others[cell];
    const own = this.stripeOffset(accountId) + cell;
    return this.others[cell] + this.load(own) + this.deferredOf(own);
  }

  /** What the other lanes of the account's cell come to, without the turns that are under way. */
  protected readOtherStripes(accountId: number, cell: number): number {
    const { stripeCount, valuesBefore } = this;
    let sum = 0;
    for (let lane = 0; lane < stripeCount; lane++) {
      if (lane === this.stripe) continue;
      const at = (accountId * stripeCount + lane) * COLUMNS_PER_STRIPE;
      const isOpen = stripeCount > 1 && this.load(at + BEGIN_VERSION) !== this.load(at + END_VERSION);
      sum += isOpen ? valuesBefore[at + cell] : this.load(at + cell);
    }
    return sum;
  }

  /** How often turns of other threads have begun or ended to change the account; less than zero while one is under way. */
  protected versionOfOthers(accountId: number): number {
    const { stripeCount } = this;
    // What is read before it stays before it, and what is read behind it behind it.
    this.fence(accountId);
    let changes = 0;
    let areOpen = false;
    for (let lane = 0; lane < stripeCount; lane++) {
      if (lane === this.stripe) continue;
      const at = (accountId * stripeCount + lane) * COLUMNS_PER_STRIPE;
      const begun = this.load(at + BEGIN_VERSION);
      const over = this.load(at + END_VERSION);
      if (begun !== over) areOpen = true;
      changes += begun + over;
    }
    this.fence(accountId);
    return areOpen ? -changes : changes;
  }

  // All reading and writing of cells comes through these two: tests let other threads in between.
  protected load(cell: number): number {
    return this.values[cell];
  }

  protected addTo(cell: number, delta: number): void {
    this.values[cell] = this.values[cell] + delta;
  }
}

/** min(equity − initial, equity − max(0, unrealized)), never below 0: unrealised gains are not paid out. */
export const withdrawableOf = (equity: number, unrealized: number, initial: number): number =>
  Math.max(0, equity - Math.max(initial, unrealized, 0));

/** The cells, and if there are several lanes what they were before. */
const tablesOf = (laneCount: number): number => (laneCount > 1 ? 2 : 1);

const bytesPerAccount = (laneCount: number): number =>
  tablesOf(laneCount) * laneCount * COLUMNS_PER_STRIPE * Float64Array.BYTES_PER_ELEMENT + Int32Array.BYTES_PER_ELEMENT;

const accountsIn = (buffer: SharedArrayBuffer, laneCount: number): number =>
  buffer.byteLength / bytesPerAccount(laneCount);

const valuesIn = (buffer: SharedArrayBuffer, laneCount: number): Float64Array<SharedArrayBuffer> =>
  new Float64Array(buffer, 0, accountsIn(buffer, laneCount) * laneCount * COLUMNS_PER_STRIPE);

function beforeIn(buffer: SharedArrayBuffer, laneCount: number): Float64Array<SharedArrayBuffer> {
  const { byteLength, length } = valuesIn(buffer, laneCount);
  return new Float64Array(buffer, byteLength, laneCount > 1 ? length : 0);
}

const fencesIn = (buffer: SharedArrayBuffer, laneCount: number): Int32Array<SharedArrayBuffer> =>
  new Int32Array(buffer, tablesOf(laneCount) * valuesIn(buffer, laneCount).byteLength);
