package internal

func {
