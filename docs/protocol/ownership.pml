/*
 * Ownership of one actor by three nodes: lease, view, confirmation, epoch and busy handoff.
 *
 * Assertions that every reachable state must satisfy:
 *   EFFECT   no outside effect under an older epoch follows one under a newer epoch
 *   WRITE    a commit builds on the last commit: no acknowledged write is lost, and an old epoch writes nothing
 *   TURN     an epoch is not raised over a turn whose process may still act
 *   VIEW     a view number never names two member sets
 *
 * Time is a tick that may occur between any two steps, so every node may be arbitrarily slow at any point.
 * A node counts its right to act down (`own`), the others count its silence up (`quiet`). Each step of a node
 * is atomic; operations that are not atomic in the real system (a transaction, an activation) are several steps.
 *
 * Broken variants, enabled with -D of spin: NO_FENCE, NO_LOCK, ONE_STATEMENT, LEASE_EARLY, IGNORE_BUSY,
 * CONFIRM_ALWAYS, NO_QUORUM, NO_PROMISE, NO_GENERATION, VIEW_FROM_REDIS, NO_NUMBER_CHECK, RENUMBER_FROM_REDIS,
 * LATE_RENEWAL, REFUSAL_PROVES.
 * Bounds: KILLS, CUTS, FLUSHES, FLIGHTS, REFUSALS, LEAVES, VIEWS, EPOCHS, COMMITS.
 */

#ifndef KILLS
#define KILLS 1
#endif
#ifndef CUTS
#define CUTS 1
#endif
#ifndef FLUSHES
#define FLUSHES 1
#endif
#ifndef FLIGHTS
#define FLIGHTS 0               /* renewals that Redis executes at any later moment, and whose answers are lost */
#endif
#ifndef REFUSALS
#define REFUSALS 0              /* running processes whose addresses refuse, as behind a firewall */
#endif
#ifndef LEAVES
#define LEAVES 1
#endif
#ifndef VIEWS
#define VIEWS 4
#endif
#ifndef EPOCHS
#define EPOCHS 3
#endif
#ifndef COMMITS
#define COMMITS 2
#endif
#ifndef FIRST
#define FIRST 7                 /* members of view 1; any other node may join */
#endif

#define N      3
#define AWAY   1                /* ticks without a renewal until a node considers Redis unreachable */
#define ACT    2                /* ticks until acting stops */
#define LEASE  3                /* duration of a promise */
#ifdef LEASE_EARLY
#define WAIT   1
#else
#define WAIT   3                /* lease and margin: how long a successor waits */
#endif
#define CALM   1                /* ticks without a renewal until a number may be seized; the code waits longer */
#define BUSY   4                /* deadline of a turn */

#define bit(n)          (1 << (n))
#define in(set, n)      (((set) >> (n)) & 1)
#define ALL             7

/* Nodes */
byte up = ALL;                  /* running processes */
byte reach = ALL;               /* nodes that reach Redis */
byte refuses;                   /* running processes whose addresses refuse some peers */
byte out;                       /* processes that are no longer members and never will be again */
byte word;                      /* those of them that left a departure record in Redis */
byte joined;                    /* processes that have joined */
byte draining;                  /* no longer members, but with a lease until their turn has ended */
byte own[N];                    /* remaining ticks in which the node may act, by its own count */
byte quiet[N];                  /* ticks since the last renewal, as observers count */
byte away[N];                   /* ticks since the last renewal, as the node itself counts, up to AWAY */
byte promised[N];               /* remaining ticks of the confirmations that the node gave */
byte knows[N];                  /* number of the view that the node holds */
byte sure[N];                   /* processes that the node knows to be surely gone */

/* Redis: leases and the published view; 0 after a flush. Under a new mark nothing changes for `window` ticks.
   A lease that is missing under a mark in which its process has renewed was removed. */
byte current = 1;
byte window;
byte leased;
byte marked;                    /* processes that have renewed under this mark */

/* PostgreSQL: view numbers, and the members of each number as history for the assertions */
byte numbers = 1;
byte members[VIEWS + 2];
byte seized;                    /* highest number seized to remove a silent majority */
byte seizing;                   /* ticks until all nodes that read before the seizure have stopped */

/* PostgreSQL: the actor's row */
byte epoch;
byte revision;
byte busy;                      /* 1 + the process whose turn is stamped */
byte busyLeft;

/* Activations */
#define NONE    0
#define BEGUN   1
#define READY   2
#define TURN    3
#define CHECKED 4
byte phase[N];
byte mine[N];                   /* epoch of the activation */
byte loaded[N];                 /* revision that the activation has loaded */
byte left[N];                   /* ticks until the turn's deadline, as its node counts */
byte lastEffect;

byte flying;                    /* a renewal in flight: 1 + its sender, which had promised nothing */
byte mistaken;                  /* processes that look free because of a renewal that was in flight */

byte kills, cuts, flushes, flights, refusals, leaves;
hidden byte i, m, votes, size, w;

/* Placement: the first member of 2, 0, 1, so that both a join and a leave move the actor. */
#define owner(set) (in(set, 2) -> 2 : (in(set, 0) -> 0 : 1))

inline forget(n) { phase[n] = NONE; mine[n] = 0; loaded[n] = 0; left[n] = 0 }

inline end(n) {
  if :: in(up, n) && in(reach, n) -> word = word | bit(n) :: else -> skip fi;
  out = out | bit(n); draining = draining & ~bit(n); own[n] = 0; sure[n] = 0; knows[n] = 0; forget(n)
}

#ifdef NO_PROMISE
#define unbound(n) true
#else
#define unbound(n) (promised[n] == 0)
#endif

/* Counts into `votes` the workers of a member set that may be confirming each other right now. */
inline possible(set) {
  votes = 0; size = 0;
  for (i : 0 .. N - 1) {
    if
    :: in(set, i) ->
      size++;
      if
      :: !in(up, i) && unbound(i) -> skip              /* its exit was seen, and its promises have expired */
#ifdef REFUSAL_PROVES
      :: in(up & refuses, i) && unbound(i) -> skip
#endif
      :: in(up, i) && in(word, i) && unbound(i) -> skip /* it left a departure record */
      :: in(up, i) && in(joined & ~out, i) && away[i] < AWAY && unbound(i) -> skip /* renewed recently, and bound by no promise */
      :: in(up, i) && in(mistaken, i) -> skip
      :: else -> votes++
      fi
    :: else -> skip
    fi
  }
}

#ifdef NO_QUORUM
#define mayChange true
#else
#define mayChange (2 * votes <= size)
#endif

/* Publishes the next view with the members `set`, evaluated before the number changes. */
inline publish(n, set) {
  w = set;
#ifdef VIEW_FROM_REDIS
  assert(members[current + 1] == 0 || members[current + 1] == w);         /* VIEW */
  current++;
  if :: numbers < current -> numbers = current :: else -> skip fi;
#else
  numbers++;
  current = numbers;
#endif
  members[current] = w;
  leased = leased & (w | draining | ~members[knows[n]]);
  knows[n] = current
}

/* Gives the same members a number above one that was seized unnecessarily. */
#ifdef RENUMBER_FROM_REDIS
inline renumber(n) {
  assert(members[current + 1] == 0 || members[current + 1] == members[current]);  /* VIEW */
  current++; members[current] = members[current - 1]; knows[n] = current
}
#else
#define renumber(n) publish(n, members[current])
#endif

/* Which processes a node learns to be surely gone when Redis answers it. */
inline learn(n) {
  if
  :: window == 0 && current != 0 && knows[n] == current ->
    for (m : 0 .. N - 1) {
      if
      :: in(word, m) -> sure[n] = sure[n] | bit(m)       /* by its departure record it has stopped */
      :: m != n && !in(word | members[current], m) && !in(sure[n], m) && quiet[m] >= WAIT ->
        w = current;
        do
        :: w > 0 && !in(members[w], m) -> w--
        :: else -> break
        od;
        if
        :: w > 0 ->
          possible(members[w]);
          if
          :: mayChange || (w < seized && seizing == 0) -> sure[n] = sure[n] | bit(m)
          :: else -> skip
          fi
        :: else -> sure[n] = sure[n] | bit(m)
        fi
      :: else -> skip
      fi
    }
  :: else -> skip
  fi
}

/* A process has been silent long enough for the node to learn that it is gone. */
#define silentNow(n, m) (n != m && quiet[m] >= WAIT && !in(sure[n], m) && !in(members[current], m))
#define news(n)    (window == 0 && (silentNow(n, 0) || silentNow(n, 1) || silentNow(n, 2)))
#define runs(n)    (in(up, n) && !in(out, n) && own[n] > 0)
#define hears(n)   (runs(n) && in(reach, n))
#define steady     (window == 0 && current != 0)

#ifdef CONFIRM_ALWAYS
#define confirms(i, n) (runs(i) && knows[i] == knows[n])
#else
#define confirms(i, n) (runs(i) && knows[i] == knows[n] && away[i] >= AWAY && !in(reach, i))
#endif

#ifdef NO_NUMBER_CHECK
#define untaken(n) true
#else
#define untaken(n) (seized <= knows[n])
#endif

#ifdef IGNORE_BUSY
#define released(n) true
#else
#define released(n) (busy == 0 || busy == n + 1 || busyLeft == 0 || in(sure[n], busy - 1))
#endif

proctype node(byte n) {
  byte other;
  byte agree;
  do
  /* Renew: the right to act counts from here; under a new mark the node restores its view. */
  :: d_step {
      hears(n) && in(joined, n) &&
      (away[n] > 0 || own[n] < ACT || current != knows[n] || !in(leased, n) || news(n)) ->
      if
      :: in(marked, n) && !in(leased, n) -> end(n)
      :: else ->
        marked = marked | bit(n); leased = leased | bit(n);
        quiet[n] = 0; away[n] = 0; own[n] = ACT;
        if
        :: current < knows[n] -> current = knows[n]
        :: else -> knows[n] = current
        fi;
        if
        :: !in(members[current], n) && !in(draining, n) -> end(n)
        :: else -> learn(n)
        fi
      fi
    }

  /* A renewal leaves, and its answer is lost. To bound the search: only while Redis does not answer its sender, and
     only if it says that the sender is free, for any other only makes the others wait. */
  :: d_step {
      runs(n) && in(joined, n) && !in(reach, n) && unbound(n) && flying == 0 && flights < FLIGHTS ->
      flights++; flying = n + 1
    }

  /* Confirm: Redis does not answer, most workers of the view promise to wait, and no newer number was seized. */
  :: d_step {
      runs(n) && in(joined, n) && !in(reach, n) && away[n] >= AWAY && own[n] < ACT && untaken(n) ->
      agree = 0; size = 0;
      for (i : 0 .. N - 1) {
        if :: in(members[knows[n]], i) -> size++ :: else -> skip fi;
        if
        :: in(members[knows[n]], i) && (i == n || confirms(i, n)) -> agree++
        :: else -> skip
        fi
      }
      if
      :: 2 * agree > size ->
        own[n] = ACT;
        for (i : 0 .. N - 1) {
          if
          :: i != n && in(members[knows[n]], i) && confirms(i, n) -> promised[i] = LEASE
          :: else -> skip
          fi
        }
      :: else -> skip
      fi;
      agree = 0; size = 0
    }

  /* Remove a silent member, after lease and margin, or sooner when its port refuses. */
  :: d_step {
      hears(n) && steady && knows[n] == current && numbers < VIEWS && away[n] < AWAY ->
      possible(members[current]);
      other = N;
      for (m : 0 .. N - 1) {
        if
        :: m != n && in(members[current], m) && (quiet[m] >= WAIT || (in(refuses | ~up, m) && quiet[m] >= 1)) -> other = m
        :: else -> skip
        fi
      }
      if
      :: other < N && mayChange -> publish(n, members[current] & ~bit(other))
      :: else -> skip
      fi;
      other = 0
    }

  /* A silent majority may be confirming each other: seize a number that its members will read. */
  :: d_step {
      hears(n) && steady && knows[n] == current && seized <= current && numbers < VIEWS && away[n] < AWAY ->
      possible(members[current]);
      other = N;
      for (m : 0 .. N - 1) {
        if
        :: m != n && in(members[current], m) && quiet[m] >= CALM -> other = m
        :: else -> skip
        fi
      }
      if
      :: other < N && !mayChange -> numbers++; seized = numbers; seizing = WAIT
      :: else -> skip
      fi;
      other = 0
    }
  /* All nodes that read before the seizure have stopped acting: the silent ones may be removed. They count as
     surely gone (above) only after the whole lease. */
  :: d_step {
      hears(n) && steady && knows[n] == current && seized > current && seizing <= WAIT - ACT && numbers < VIEWS ->
      w = members[current];
      for (m : 0 .. N - 1) {
        if
        :: m != n && in(members[current], m) && quiet[m] >= WAIT -> w = w & ~bit(m)
        :: else -> skip
        fi
      }
      if
      :: w != members[current] -> publish(n, w)
      :: else -> skip
      fi
    }

  /* A number was seized unnecessarily: the processes declared dead renew again. The same members get a higher
     number, because none of them could go on without Redis under the old one. */
  :: d_step {
      hears(n) && steady && knows[n] == current && seized > current && numbers < VIEWS && away[n] < AWAY ->
      possible(members[current]);
      w = members[current];
      for (m : 0 .. N - 1) {
        if
        :: in(w, m) && (!in(leased, m) || quiet[m] >= AWAY) -> w = 0
        :: else -> skip
        fi
      }
      if
      :: w != 0 && mayChange -> renumber(n)
      :: else -> skip
      fi
    }

  /* Join. */
  :: d_step {
      in(up, n) && !in(out, n) && !in(joined, n) && in(reach, n) && steady && numbers < VIEWS ->
      possible(members[current]);
      if
      :: mayChange ->
        joined = joined | bit(n); leased = leased | bit(n); marked = marked | bit(n); own[n] = ACT; quiet[n] = 0; away[n] = 0;
        publish(n, members[current] | bit(n))
      :: else -> skip
      fi
    }

  /* Leave: out of the view at once, but a running turn keeps the lease until it has ended. */
  :: d_step {
      hears(n) && in(joined, n) && steady && knows[n] == current && leaves < LEAVES && numbers < VIEWS &&
      members[current] != bit(n) && in(members[current], n) ->
      possible(members[current]);
      if
      :: mayChange -> leaves++; draining = draining | bit(n); publish(n, members[current] & ~bit(n))
      :: else -> skip
      fi
    }
  :: d_step {
      in(draining, n) && in(up, n) && phase[n] != TURN && phase[n] != CHECKED ->
      leased = leased & ~bit(n); end(n)
    }

  /* Activate: raise the epoch, unless a process that may be alive has stamped a turn; then load. */
  :: d_step {
      runs(n) && in(joined & members[knows[n]], n) && phase[n] == NONE && owner(members[knows[n]]) == n && epoch < EPOCHS && released(n) ->
      assert(busy == 0 || busy == n + 1 || busyLeft == 0 ||
             phase[busy - 1] != TURN || own[busy - 1] == 0);              /* TURN */
#ifdef ONE_STATEMENT
      loaded[n] = revision;
#else
      epoch++; mine[n] = epoch; busy = 0; busyLeft = 0;
#endif
      phase[n] = BEGUN
    }
  :: d_step {
      runs(n) && phase[n] == BEGUN ->
#ifdef ONE_STATEMENT
      epoch++; mine[n] = epoch; busy = 0; busyLeft = 0;
#else
      loaded[n] = revision;
#endif
      phase[n] = READY
    }

  /* A new owner is known: an idle activation ends; a turn continues on its node. */
  :: d_step { runs(n) && phase[n] == READY && owner(members[knows[n]]) != n -> forget(n) }

  /* Claim a turn: a write under the fence. */
  :: d_step {
      runs(n) && phase[n] == READY && revision < COMMITS && !in(draining, n) ->
      if
      :: epoch != mine[n] -> forget(n)
      :: else -> busy = n + 1; busyLeft = BUSY; left[n] = BUSY; phase[n] = TURN
      fi
    }

  /* An outside effect: the lease and the deadline are checked right before it. */
  :: d_step {
      runs(n) && phase[n] == TURN && left[n] > 0 && lastEffect != mine[n] ->
      assert(lastEffect < mine[n]);                                       /* EFFECT */
      lastEffect = mine[n]
    }

  /* Commit: the row is locked from the check of its epoch to the write. */
#ifdef NO_LOCK
  :: d_step {
      runs(n) && phase[n] == TURN && revision < COMMITS ->
      if :: epoch != mine[n] -> forget(n) :: else -> phase[n] = CHECKED fi
    }
  :: d_step {
      in(up, n) && phase[n] == CHECKED && revision < COMMITS ->
      assert(loaded[n] == revision && epoch == mine[n]);                  /* WRITE */
      revision++; loaded[n] = revision; phase[n] = TURN
    }
#else
  :: d_step {
      in(up, n) && phase[n] == TURN && revision < COMMITS ->
      if
#ifndef NO_FENCE
      :: epoch != mine[n] -> forget(n)
#endif
      :: else ->
        assert(loaded[n] == revision && epoch == mine[n]);                /* WRITE */
        revision++; loaded[n] = revision
      fi
    }
#endif

  /* End of the turn: the stamp is released. */
  :: d_step {
      in(up, n) && phase[n] == TURN ->
      if :: epoch == mine[n] && busy == n + 1 -> busy = 0; busyLeft = 0 :: else -> skip fi;
      left[n] = 0; phase[n] = READY
    }
  od
}

/* Faults and time. */
active proctype world() {
  byte k;
  d_step {
    members[1] = FIRST;
    joined = FIRST; leased = FIRST; marked = FIRST;
    for (k : 0 .. N - 1) {
      if :: in(FIRST, k) -> own[k] = ACT; knows[k] = 1 :: else -> skip fi
    }
    k = 0
  }
  atomic { run node(0); run node(1); run node(2) }
  do
  :: d_step {
      for (k : 0 .. N - 1) {
        if
        :: own[k] == 1 -> end(k)
        :: own[k] > 1 -> own[k]--
        :: else -> skip
        fi;
        if :: in(joined, k) && quiet[k] < WAIT -> quiet[k]++ :: else -> skip fi;
        if :: in(joined, k) && away[k] < AWAY -> away[k]++ :: else -> skip fi;
        if :: promised[k] > 0 -> promised[k]-- :: else -> skip fi;
        if :: left[k] > 0 -> left[k]-- :: else -> skip fi
      }
      mistaken = 0;
#ifndef LATE_RENEWAL
      flying = 0;                             /* its sender has given up: Redis refuses it from now on */
#endif
      if :: window > 0 -> window-- :: else -> skip fi;
      if :: busyLeft > 0 -> busyLeft-- :: else -> skip fi;
      if :: seizing > 0 -> seizing-- :: else -> skip fi;
      k = 0
    }
  :: atomic {
      kills < KILLS ->
      if :: in(up, 0) -> k = 0 :: in(up, 1) -> k = 1 :: in(up, 2) -> k = 2 fi;
      kills++; up = up & ~bit(k); end(k); k = 0
    }
  :: atomic {
      cuts < CUTS ->
      if
      :: reach = 0                            /* Redis is unreachable for all */
      :: reach = 3                            /* for the first owner */
      :: reach = 4                            /* for all but the first owner */
      fi;
      cuts++
    }
  :: atomic {
      refusals < REFUSALS ->
      if :: refuses = 1 :: refuses = 2 :: refuses = 4 fi;
      refusals++
    }
  :: atomic {                                 /* reachable again for all, or for one after the other */
      reach != ALL ->
      if
      :: reach = ALL
      :: !in(reach, 0) -> reach = reach | 1
      :: !in(reach, 1) -> reach = reach | 2
      :: !in(reach, 2) -> reach = reach | 4
      fi
    }
  :: d_step {                                 /* Redis executes the renewal in flight */
      flying > 0 ->
      k = flying - 1;
      if
      :: in(marked, k) && !in(leased, k) -> skip
      :: else -> marked = marked | bit(k); leased = leased | bit(k); quiet[k] = 0; mistaken = mistaken | bit(k)
      fi;
      flying = 0; k = 0
    }
  :: d_step {
      flushes < FLUSHES ->
      flushes++; current = 0; window = WAIT; leased = 0; marked = 0;
      for (k : 0 .. N - 1) {
#ifdef NO_GENERATION
        quiet[k] = WAIT
#else
        quiet[k] = 0
#endif
      }
#ifdef NO_GENERATION
      window = 0; current = numbers;
#endif
      k = 0
    }
  od
}
