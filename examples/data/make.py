"""Writes the bundled incident: three services' logs, their metrics and the deploys of one afternoon.

    python3 examples/data/make.py [FOLDER]

Same seed, same files. Change a number here, or a line in a log, and the examples tell another story.
"""

import csv
import random
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 3, 10, 13, 0, tzinfo=UTC)
MINUTES = 150
SEED = 20260310

DEPLOYS = [
    ("2026-03-10T09:15:00Z", "payments", "2.9.1", "add SEPA instant payouts", "j.okafor"),
    ("2026-03-10T10:42:00Z", "search", "7.3.0", "new synonym list", "l.brandt"),
    ("2026-03-10T11:05:00Z", "checkout", "4.17.3", "show delivery date in basket", "m.tanaka"),
    ("2026-03-10T14:20:00Z", "checkout", "4.18.0", "database pool: 40 to 12 connections per pod", "m.tanaka"),
    ("2026-03-10T14:51:00Z", "search", "7.3.1", "log slow queries", "l.brandt"),
]


def steady(rate):
    """So many per minute, all afternoon."""
    return lambda minute: rate


def between(first, last, rate, ramp=6):
    """So many per minute between two minutes, after a ramp of some minutes; none outside."""
    return lambda minute: rate * min(1, (minute - first + 1) / ramp) if first <= minute <= last else 0


# service -> [(error class, its rate per minute, its message)]
ERRORS = {
    "checkout": [
        ("PoolTimeout", between(84, 150, 9), "waited 5000 ms for a connection pool=orders-db in_use=12 size=12"),
        ("PoolTimeout", steady(0.05), "waited 5000 ms for a connection pool=orders-db in_use=31 size=40"),
        ("ClientDisconnected", steady(0.5), "client closed the connection route=/basket"),
        ("StockConflict", steady(0.25), "article sold out while paying route=/pay"),
    ],
    "payments": [
        ("AcquirerTimeout", between(41, 72, 9), "no answer within 8000 ms acquirer=northbank"),
        ("AcquirerTimeout", steady(0.12), "no answer within 8000 ms acquirer=eastpay"),
        ("CardDeclined", steady(0.6), "issuer refused code=51 acquirer=eastpay"),
        ("ClientDisconnected", steady(0.3), "client closed the connection route=/charge"),
    ],
    "search": [
        ("QueryParse", between(120, 150, 1.6, ramp=1), "unbalanced quote in query route=/search"),
        ("IndexLag", between(122, 150, 1.4, ramp=1), "index is 95 s behind shard=articles-2"),
        ("UpstreamReset", between(118, 150, 1.2, ramp=1), "connection reset by recommender route=/related"),
        ("QueryParse", steady(0.4), "unbalanced quote in query route=/search"),
        ("ClientDisconnected", steady(0.4), "client closed the connection route=/search"),
    ],
}
ROUTES = {
    "checkout": ["/basket", "/pay", "/address"],
    "payments": ["/charge", "/refund"],
    "search": ["/search", "/related"],
}
REQUESTS = {"checkout": 840, "payments": 420, "search": 1900}
METRICS = ["time", "service", "requests", "errors", "p95_ms", "pool_in_use", "pool_size"]
P95 = {"checkout": 180, "payments": 310, "search": 95}


def log_lines(service, minute, dice):
    """One minute of a service's log, in order, and how many of its lines are errors."""
    entries = []
    for error_class, rate, message in ERRORS[service]:
        expected = rate(minute)
        count = int(expected) + (dice.random() < expected % 1)
        if expected > 2:
            count = max(0, count + dice.choice([-1, 0, 0, 1]))
        entries += [(f"ERROR {error_class} {message}") for _ in range(count)]
    errors = len(entries)
    for _ in range(4):
        took = round(dice.gauss(P95[service] * 0.6, 12))
        entries.append(f"INFO  request route={dice.choice(ROUTES[service])} status=200 took={took}ms")
    dice.shuffle(entries)
    seconds = sorted(dice.sample(range(60), len(entries)))
    at = START + timedelta(minutes=minute)
    lines = [
        f"{at + timedelta(seconds=second):%Y-%m-%dT%H:%M:%SZ} {service}-{dice.choice('abc')} {entry}"
        for second, entry in zip(seconds, entries, strict=True)
    ]
    return lines, errors


def metrics_row(service, minute, errors, dice):
    slow = ERRORS[service][0][1](minute) > 1.7
    p95 = round(dice.gauss(P95[service] * (12 if slow else 1), P95[service] * 0.04))
    pool_size = 12 if service == "checkout" and minute >= 80 else 40
    in_use = pool_size if service == "checkout" and slow else min(pool_size, round(dice.gauss(11, 1)))
    return [
        f"{START + timedelta(minutes=minute):%Y-%m-%dT%H:%M:00Z}",
        service,
        round(dice.gauss(REQUESTS[service], 20)),
        errors,
        p95,
        in_use,
        pool_size,
    ]


def write(folder):
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    rows = []
    for service in ERRORS:
        dice = random.Random(f"{SEED} {service}")  # noqa: S311
        lines = []
        for minute in range(MINUTES):
            new, errors = log_lines(service, minute, dice)
            lines += new
            rows.append(metrics_row(service, minute, errors, dice))
        (folder / "logs" / f"{service}.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(service, Counter(line.split()[3] for line in lines if " ERROR " in line))
    save(folder / "metrics.csv", METRICS, sorted(rows))
    save(folder / "deploys.csv", ["time", "service", "version", "change", "author"], DEPLOYS)


def save(file, header, rows):
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
