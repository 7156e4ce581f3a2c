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
const CELLS_PER_LANE = 8; // one cache line
const EQUITY = 0;
const UNREALIZED = 1;
const INITIAL = 2;
const POSITION_INITIAL = 3;
const MAINTENANCE = 4;
/** How many turns have begun to change the lane's share of the account, and how many of them are over. */
const BEGUN = 5;
const OVER = 6;
/** 1 while a turn may be making positions of what the account's orders have reserved: see engage(). */
const ENGAGED = 7;

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
export const NO_LANE = -1;

/** A look is in vain when a turn begins or ends in the middle of it, as one in some hundred does at worst. */
const MOST_LOOKS = 1000;

export class AccountCells {
  /** For each account its lanes, one behind the other. */
  private cells: Float64Array<SharedArrayBuffer>;
  /**
   * What each cell was before the turn that is under way. Only where there are several lanes: with one nobody does anything
   * for what another thread is in the middle of.
   */
  private before: Float64Array<SharedArrayBuffer>;
  /** A word for each account, behind the cells: 1 while somebody covers its deficit. */
  private gates: Int32Array<SharedArrayBuffer>;
  private readonly lane: number;
  protected readonly laneCount: number;
  /** Changes in an account's favour wait here until the turn that caused them has its place in the log. */
  private readonly favouredCells: number[] = [];
  private readonly favours: number[] = [];
  private favourCount = 0;
  /** The first so many of them count for their accounts already, with so much for each cell: see countFavours(). */
  private countedFavours = 0;
  private readonly counted = new Map<number, number>();
  private flushedCount = 0;
  /** What the turn that is under way has added already: see abandon(). */
  private isTurnOpen = false;
  private readonly burdenedCells: number[] = [];
  private readonly burdens: number[] = [];
  private burdenCount = 0;
  /** Where the lanes begin of the accounts that it changes. */
  private readonly openLanes: number[] = [];
  private openCount = 0;
  /** What the other lanes came to when they were last observed, by cell. */
  private readonly others = new Float64Array(CONTRIBUTION_FIELDS);
  private readonly sums: Contribution = { equity: 0, unrealized: 0, initial: 0, positionInitial: 0, maintenance: 0 };
  protected readonly mostLooks: number = MOST_LOOKS;

  /** `lane`: the one that this thread's actors add to, or NO_LANE. */
  constructor(buffer: SharedArrayBuffer, laneCount = 1, lane = 0) {
    this.laneCount = laneCount;
    this.lane = lane;
    this.cells = cellsIn(buffer, laneCount);
    this.before = beforeIn(buffer, laneCount);
    this.gates = gatesIn(buffer, laneCount);
  }

  static allocate(maxAccounts: number, laneCount = 1, lane = 0): AccountCells {
    return new AccountCells(new SharedArrayBuffer(maxAccounts * bytesPerAccount(laneCount)), laneCount, lane);
  }

  get buffer(): SharedArrayBuffer {
    return this.cells.buffer;
  }

  /** From now on these are the cells in `buffer`: for one who has worked on others until it was counted. */
  moveTo(buffer: SharedArrayBuffer): void {
    this.cells = cellsIn(buffer, this.laneCount);
    this.before = beforeIn(buffer, this.laneCount);
    this.gates = gatesIn(buffer, this.laneCount);
  }

  get maxAccounts(): number {
    return this.gates.length;
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
  observe(accountId: number): boolean {
    for (let looks = 0; looks < this.mostLooks; looks++) {
      const changes = this.changesOfOthers(accountId);
      for (let cell = 0; cell < CONTRIBUTION_FIELDS; cell++) this.others[cell] = this.readOthers(accountId, cell);
      // Each turn is a change when it begins and one when it is over.
      if (this.changesOfOthers(accountId) === changes) return changes >= 0;
    }
    return false;
  }

  /**
   * What all come to: the other lanes as they were observed, this thread's as this turn may take it for. Filled in again by
   * the next call.
   */
  observed(accountId: number): Readonly<Contribution> {
    const { sums } = this;
    sums.equity = this.observedCell(accountId, EQUITY);
    sums.unrealized = this.observedCell(accountId, UNREALIZED);
    sums.initial = this.observedCell(accountId, INITIAL);
    sums.positionInitial = this.observedCell(accountId, POSITION_INITIAL);
    sums.maintenance = this.observedCell(accountId, MAINTENANCE);
    return sums;
  }

  /** What this turn may take the equity for, without what other threads may be spending. */
  equityNow(accountId: number): number {
    return this.own(accountId, EQUITY);
  }
  /** What has been observed of the equity, less what another thread has spent since in the middle of its turn. */
  equityLeft(accountId: number): number {
    return Math.min(this.observedCell(accountId, EQUITY), this.equityNow(accountId));
  }
  /** What this turn may take the initial margin for. */
  initialNow(accountId: number): number {
    return this.own(accountId, INITIAL);
  }
  /** What this turn may take the maintenance margin for. */
  maintenanceNow(accountId: number): number {
    return this.own(accountId, MAINTENANCE);
  }

  /** What new risk may use: equity − initial. */
  available(accountId: number): number {
    return this.own(accountId, EQUITY) - this.own(accountId, INITIAL);
  }

  /** See withdrawableOf(). */
  withdrawable(accountId: number): number {
    return withdrawableOf(this.own(accountId, EQUITY), this.own(accountId, UNREALIZED), this.own(accountId, INITIAL));
  }

  /**
   * Takes `amount` of initial margin if equity covers it, else takes it back and answers false. Two actors that race can
   * both be refused; they can never both spend the same money. What was taken is added to `given` (see move()). Below zero
   * it is what the account will need less than now: that comes free with move().
   */
  reserve(accountId: number, amount: number, given: Float64Array, givenAt: number): boolean {
    const at = this.place(accountId);
    const taken = Math.max(0, amount);
    // Also where nothing more is taken: what is there already is about to become a position.
    this.engage(accountId);
    this.burden(at + INITIAL, taken);
    const initial = this.readBehind(accountId, INITIAL) + Math.min(0, amount);
    const equity = this.readBehind(accountId, EQUITY);
    if (equity < initial && equity + (this.favour(at + EQUITY) - this.favour(at + INITIAL)) < initial) {
      this.burden(at + INITIAL, -taken);
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
    return this.take(accountId, amount, given, givenAt, this.laneCount > 1);
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
    const at = this.place(accountId) + EQUITY;
    this.burden(at, -amount);
    const equity = this.ownBehind(accountId, EQUITY);
    if (equity < 0 || (leavesWhatOthersNeed && equity < this.neededByOthers(accountId, equity + amount))) {
      this.burden(at, amount);
      return false;
    }
    given[givenAt + EQUITY] = given[givenAt + EQUITY] - amount;
    return true;
  }

  /**
   * A fill of this turn is about to change the account, whose cells follow at the turn's end: until then others leave what
   * its orders here have reserved.
   */
  engage(accountId: number): void {
    if (this.laneCount === 1 || !this.isTurnOpen) return;
    const at = this.place(accountId);
    this.openLane(at);
    if (this.look(at + ENGAGED) === 0) this.put(at + ENGAGED, 1);
    // Whoever has spent before it is seen by what is read from here on.
    this.passGate(accountId);
  }

  /**
   * What of so much equity stands for what the other threads have: the share of their positions, by maintenance margin and
   * no more than that; and what orders have reserved there, as long as a turn may be making positions of them. A turn that
   * only brings positions to a new mark stands in no close's way.
   */
  private neededByOthers(accountId: number, equity: number): number {
    let reserved = 0;
    let maintenance = 0;
    for (let lane = 0; lane < this.laneCount; lane++) {
      if (lane === this.lane) continue;
      const at = (accountId * this.laneCount + lane) * CELLS_PER_LANE;
      if (this.look(at + ENGAGED) !== 0)
        reserved += Math.max(0, this.look(at + INITIAL) - this.look(at + POSITION_INITIAL));
      // What is no longer reserved is a position by now.
      this.passGate(accountId);
      maintenance += this.look(at + MAINTENANCE);
    }
    const all = this.maintenanceNow(accountId);
    return reserved + (equity >= all ? maintenance : equity - proportion(equity, all - maintenance, all));
  }

  /**
   * Debits equity if `amount` is withdrawable, else takes it back and answers false. The debit comes first and the
   * check after it, so a symbol that reserves at the same moment sees either the money or its absence.
   */
  debit(accountId: number, amount: number): boolean {
    const at = this.place(accountId) + EQUITY;
    this.burden(at, -amount);
    const gainsBefore = this.readBehind(accountId, UNREALIZED);
    const initial = this.readBehind(accountId, INITIAL);
    const equity = this.readBehind(accountId, EQUITY);
    const gains = Math.max(0, gainsBefore, this.readBehind(accountId, UNREALIZED));
    if (equity >= initial && equity >= gains) return true;
    this.burden(at, amount);
    return false;
  }

  /**
   * Whether the account can bear that this actor's contribution becomes `to`: equity still covers initial margin, and
   * what leaves it is no unrealised gain. If so, what burdens it has been taken and added to `given`, and move() does the
   * rest; if not, nothing has changed. Taken first and checked after, like reserve() and debit().
   */
  claim(accountId: number, to: Contribution, given: Float64Array, givenAt: number): boolean {
    const at = this.place(accountId);
    const equityBy = to.equity - given[givenAt + EQUITY];
    const initialBy = to.initial - given[givenAt + INITIAL];
    const gainsBy = to.unrealized - given[givenAt + UNREALIZED];
    const taken = Math.min(0, equityBy);
    const added = Math.max(0, initialBy);
    const gained = Math.max(0, gainsBy);
    this.burden(at + EQUITY, taken);
    this.burden(at + INITIAL, added);
    this.burden(at + UNREALIZED, gained);
    const gainsBefore = this.ownBehind(accountId, UNREALIZED);
    const initial = this.ownBehind(accountId, INITIAL) + Math.min(0, initialBy);
    const equity = this.ownBehind(accountId, EQUITY) + Math.max(0, equityBy);
    const gains = Math.max(gainsBefore, this.ownBehind(accountId, UNREALIZED)) + Math.min(0, gainsBy);
    if (equity >= initial && (taken === 0 || equity >= gains)) {
      given[givenAt + EQUITY] = given[givenAt + EQUITY] + taken;
      given[givenAt + INITIAL] = given[givenAt + INITIAL] + added;
      given[givenAt + UNREALIZED] = given[givenAt + UNREALIZED] + gained;
      return true;
    }
    this.burden(at + UNREALIZED, -gained);
    this.burden(at + INITIAL, -added);
    this.burden(at + EQUITY, -taken);
    return false;
  }

  /**
   * Lifts an equity below zero to zero, and answers by how much; 0 when there was nothing to lift or another actor was
   * faster, or is in the middle of a turn: it may be lifting it. What was lifted is added to `given`. An account at zero
   * can take no risk, so nobody can build on it early.
   */
  cover(accountId: number, given: Float64Array, givenAt: number): number {
    if (Atomics.compareExchange(this.gates, accountId, 0, 1) !== 0) return 0;
    const lifted = this.observe(accountId) ? Math.max(0, -this.observedCell(accountId, EQUITY)) : 0;
    this.burden(this.place(accountId) + EQUITY, lifted);
    given[givenAt + EQUITY] = given[givenAt + EQUITY] + lifted;
    Atomics.store(this.gates, accountId, 0);
    return lifted;
  }

  /**
   * Brings what an actor has contributed (five numbers of `given` from `at`, in the order of the cells) to `to`.
   * What helps the account waits for flush(), unless what it follows from stands in the log already (`isLogged`).
   */
  move(accountId: number, given: Float64Array, at: number, to: Contribution, isLogged = false): void {
    const cell = this.place(accountId);
    const mayWait = !isLogged;
    const equity = to.equity - given[at + EQUITY];
    const unrealized = to.unrealized - given[at + UNREALIZED];
    const initial = to.initial - given[at + INITIAL];
    const positionInitial = to.positionInitial - given[at + POSITION_INITIAL];
    const maintenance = to.maintenance - given[at + MAINTENANCE];
    // A gain is known as one before it is there, and no longer as one once it has gone: see readBehind(). Less of an
    // unrealised gain is more to withdraw.
    if (unrealized > 0) this.burden(cell + UNREALIZED, unrealized);
    if (isLogged && unrealized > 0) this.passGate(accountId);
    if (equity !== 0) this.add(cell + EQUITY, equity, mayWait && equity > 0);
    if (unrealized < 0) this.add(cell + UNREALIZED, unrealized, mayWait);
    if (isLogged && initial < 0) this.passGate(accountId);
    if (initial !== 0) this.add(cell + INITIAL, initial, mayWait && initial < 0);
    // Or equity that waits for the ticket would stand beside margin that does not need it any more.
    if (maintenance !== 0) this.add(cell + MAINTENANCE, maintenance, mayWait && maintenance < 0);
    // What orders have reserved is a position's once its maintenance margin is there: see neededByOthers().
    if (positionInitial > 0) this.passGate(accountId);
    this.burden(cell + POSITION_INITIAL, positionInitial);
    given[at + EQUITY] = to.equity;
    given[at + UNREALIZED] = to.unrealized;
    given[at + INITIAL] = to.initial;
    given[at + POSITION_INITIAL] = to.positionInitial;
    given[at + MAINTENANCE] = to.maintenance;
  }

  /** A turn begins. */
  begin(): void {
    this.isTurnOpen = true;
    this.burdenCount = 0;
  }

  /**
   * The turn is over, and has its ticket if it has done anything: whoever uses what it did in accounts' favour comes after
   * it in the log.
   */
  flush(): void {
    this.isTurnOpen = false;
    this.burdenCount = 0;
    if (this.flushedCount < this.favourCount) this.passOpenGates();
    for (; this.flushedCount < this.favourCount; this.flushedCount++)
      this.put(this.favouredCells[this.flushedCount], this.favours[this.flushedCount]);
    this.forgetFavours();
    this.flushedCount = 0;
    this.closeLanes();
  }

  /**
   * What the turn has done in accounts' favour until now may be used by what it does from here on: both stand in one
   * record of the log, so a crash takes both or neither. Other actors see it with flush().
   */
  countFavours(): void {
    for (; this.countedFavours < this.favourCount; this.countedFavours++) {
      const cell = this.favouredCells[this.countedFavours];
      this.counted.set(cell, this.favour(cell) + this.favours[this.countedFavours]);
    }
  }

  /** What this turn may take the cell for. */
  private own(accountId: number, cell: number): number {
    return this.read(accountId, cell) + this.favour(this.place(accountId) + cell);
  }

  private favour(cell: number): number {
    return this.countedFavours === 0 ? 0 : (this.counted.get(cell) ?? 0);
  }

  /**
   * The thread has thrown and does nothing more: the cells get to where its last turn has left them. A turn that had no
   * ticket has not been, so what it has added is taken back; one that had is in the log, and the rest of it follows.
   */
  abandon(): void {
    if (!this.isTurnOpen) return this.flush();
    this.isTurnOpen = false;
    while (this.burdenCount > 0) {
      const last = --this.burdenCount;
      this.put(this.burdenedCells[last], -this.burdens[last]);
    }
    this.forgetFavours();
    this.closeLanes();
  }

  private forgetFavours(): void {
    this.favourCount = 0;
    if (this.countedFavours === 0) return;
    this.countedFavours = 0;
    this.counted.clear();
  }

  /** Adds all that an actor has contributed to an account, five numbers of `given`: for counting anew. */
  addAll(accountId: number, given: Float64Array, at: number): void {
    const cell = this.place(accountId);
    for (let field = 0; field < CONTRIBUTION_FIELDS; field++)
      if (given[at + field] !== 0) this.put(cell + field, given[at + field]);
  }

  clear(): void {
    this.cells.fill(0);
  }

  /** Becomes a copy of `other`, while nobody works on either. Who died while covering a deficit covers it no more. */
  copyFrom(other: AccountCells): void {
    this.cells.set(other.cells);
    this.gates.fill(0);
  }

  /** Where this thread's lane of the account begins. */
  private place(accountId: number): number {
    return (accountId * this.laneCount + this.lane) * CELLS_PER_LANE;
  }

  /** What all lanes of the account's cell come to. */
  protected read(accountId: number, cell: number): number {
    const { laneCount } = this;
    const at = accountId * laneCount * CELLS_PER_LANE + cell;
    let sum = this.look(at);
    for (let lane = 1; lane < laneCount; lane++) sum += this.look(at + lane * CELLS_PER_LANE);
    return sum;
  }

  /**
   * The same behind the account's gate. In this order: unrealised gains, initial margin, equity, and the gains once more.
   * Margin comes free behind the loss that it comes with, equity grows behind the gain that has not been realised, and such
   * a gain goes behind the equity that goes with it.
   */
  private readBehind(accountId: number, cell: number): number {
    this.passGate(accountId);
    return this.read(accountId, cell);
  }

  /** The same, as this turn may take it. */
  private ownBehind(accountId: number, cell: number): number {
    return this.readBehind(accountId, cell) + this.favour(this.place(accountId) + cell);
  }

  /** Alone there is nobody to be ahead of or behind. */
  protected passGate(accountId: number): void {
    if (this.laneCount > 1) Atomics.add(this.gates, accountId, 0);
  }

  /** Those of all accounts that the turn changes. */
  private passOpenGates(): void {
    if (this.laneCount === 1) return;
    for (let i = 0; i < this.openCount; i++) this.passGate(this.accountAt(this.openLanes[i]));
  }

  private accountAt(lane: number): number {
    return Math.floor(lane / (this.laneCount * CELLS_PER_LANE));
  }

  private add(cell: number, delta: number, waits: boolean): void {
    if (!waits) return this.burden(cell, delta);
    if (this.isTurnOpen) this.openLane(cell);
    this.favouredCells[this.favourCount] = cell;
    this.favours[this.favourCount++] = delta;
  }

  /** Adds at once, so that abandon() can take it back. */
  private burden(cell: number, delta: number): void {
    if (delta === 0) return;
    if (this.isTurnOpen) this.openLane(cell);
    this.put(cell, delta);
    if (!this.isTurnOpen) return;
    this.burdenedCells[this.burdenCount] = cell;
    this.burdens[this.burdenCount++] = delta;
  }

  /** The turn changes the account that one of its lane's cells is of: whoever observes it sees what it was before. */
  private openLane(cell: number): void {
    const at = cell & -CELLS_PER_LANE;
    const { openLanes, openCount } = this;
    if (openCount > 0 && (openLanes[openCount - 1] === at || this.look(at + BEGUN) !== this.look(at + OVER))) return;
    if (this.laneCount === 1) this.put(at + BEGUN, 1);
    else this.beginInSight(at);
    this.openLanes[this.openCount++] = at;
  }

  /**
   * The last turn is seen to be over before what it has left is kept; that is there when this one is seen to have begun; and
   * that is seen before what it changes.
   */
  private beginInSight(at: number): void {
    const accountId = this.accountAt(at);
    this.passGate(accountId);
    this.keepBefore(at);
    this.passGate(accountId);
    this.put(at + BEGUN, 1);
    this.passGate(accountId);
  }

  protected keepBefore(at: number): void {
    const { before, cells } = this;
    for (let cell = at; cell < at + CONTRIBUTION_FIELDS; cell++) before[cell] = cells[cell];
  }

  private closeLanes(): void {
    // All that the turn has changed is there when it is seen to be over.
    this.passOpenGates();
    while (this.openCount > 0) {
      const at = this.openLanes[--this.openCount];
      if (this.look(at + ENGAGED) !== 0) this.put(at + ENGAGED, -1);
      this.put(at + OVER, 1);
    }
  }

  protected observedCell(accountId: number, cell: number): number {
    if (this.lane === NO_LANE) return this.others[cell];
    const own = this.place(accountId) + cell;
    return this.others[cell] + this.look(own) + this.favour(own);
  }

  /** What the other lanes of the account's cell come to, without the turns that are under way. */
  protected readOthers(accountId: number, cell: number): number {
    const { laneCount, before } = this;
    let sum = 0;
    for (let lane = 0; lane < laneCount; lane++) {
      if (lane === this.lane) continue;
      const at = (accountId * laneCount + lane) * CELLS_PER_LANE;
      const isOpen = laneCount > 1 && this.look(at + BEGUN) !== this.look(at + OVER);
      sum += isOpen ? before[at + cell] : this.look(at + cell);
    }
    return sum;
  }

  /** How often turns of other threads have begun or ended to change the account; less than zero while one is under way. */
  protected changesOfOthers(accountId: number): number {
    const { laneCount } = this;
    // What is read before it stays before it, and what is read behind it behind it.
    this.passGate(accountId);
    let changes = 0;
    let areOpen = false;
    for (let lane = 0; lane < laneCount; lane++) {
      if (lane === this.lane) continue;
      const at = (accountId * laneCount + lane) * CELLS_PER_LANE;
      const begun = this.look(at + BEGUN);
      const over = this.look(at + OVER);
      if (begun !== over) areOpen = true;
      changes += begun + over;
    }
    this.passGate(accountId);
    return areOpen ? -changes : changes;
  }

  // All reading and writing of cells comes through these two: tests let other threads in between.
  protected look(cell: number): number {
    return this.cells[cell];
  }

  protected put(cell: number, delta: number): void {
    this.cells[cell] = this.cells[cell] + delta;
  }
}

/** min(equity − initial, equity − max(0, unrealized)), never below 0: unrealised gains are not paid out. */
export const withdrawableOf = (equity: number, unrealized: number, initial: number): number =>
  Math.max(0, equity - Math.max(initial, unrealized, 0));

/** The cells, and if there are several lanes what they were before. */
const tablesOf = (laneCount: number): number => (laneCount > 1 ? 2 : 1);

const bytesPerAccount = (laneCount: number): number =>
  tablesOf(laneCount) * laneCount * CELLS_PER_LANE * Float64Array.BYTES_PER_ELEMENT + Int32Array.BYTES_PER_ELEMENT;

const accountsIn = (buffer: SharedArrayBuffer, laneCount: number): number =>
  buffer.byteLength / bytesPerAccount(laneCount);

const cellsIn = (buffer: SharedArrayBuffer, laneCount: number): Float64Array<SharedArrayBuffer> =>
  new Float64Array(buffer, 0, accountsIn(buffer, laneCount) * laneCount * CELLS_PER_LANE);

function beforeIn(buffer: SharedArrayBuffer, laneCount: number): Float64Array<SharedArrayBuffer> {
  const { byteLength, length } = cellsIn(buffer, laneCount);
  return new Float64Array(buffer, byteLength, laneCount > 1 ? length : 0);
}

const gatesIn = (buffer: SharedArrayBuffer, laneCount: number): Int32Array<SharedArrayBuffer> =>
  new Int32Array(buffer, tablesOf(laneCount) * cellsIn(buffer, laneCount).byteLength);
